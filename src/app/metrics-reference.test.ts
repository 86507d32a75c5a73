import { expect, test } from 'vitest'
import { MOST_SETS } from '../platform/metrics/label-sets.ts'
import type { Definition } from '../platform/metrics/metrics.ts'
import { allMetrics, type Counting } from '../../test/support/all-metrics.ts'

const WHERE: Record<Counting, string> = {
  'every process': 'Every process',
  gateways: 'Gateways (`flotilla gateway`, and frontends)',
  frontends: 'Frontends',
  workers: 'Workers (and `flotilla up`)',
}

function reference(): string {
  const parts = Object.entries(allMetrics()).map(([who, definitions]) => {
    const rows = definitions.map(({ name, type, labelNames, help }) => {
      const labels = labelNames.map((label) => `\`${label}\``).join(', ')
      return `| \`${name}\` | ${type} | ${labels} | ${help} |`
    })
    return `## ${WHERE[who as Counting]}\n\n| metric | type | labels | what it is |\n|---|---|---|---|\n${rows.join('\n')}\n`
  })
  return `${HEAD}\n${parts.join('\n')}`
}

const HEAD = `# Metrics

<!-- Generated from the code: vitest run --project unit src/app/metrics-reference.test.ts -u -->

\`GET /metrics\` of every role answers in Prometheus's text format, or in OpenMetrics to who asks for that with \`Accept\`. What
is shown where, how to scrape it and what to look at is in [the guide](../guide/metrics.md).

A metric has at most ${MOST_SETS} sets of label values; what comes beyond is counted under \`other\`. Models that clients make up
are counted as \`unknown\`. \`replica\` is the id of a replica; those that are gone are forgotten.
`

test('the reference of metrics is what the code defines', async () => {
  await expect(reference()).toMatchFileSnapshot('../../docs/reference/metrics.md')
})

test('names and units are by convention, and every metric says what it is', () => {
  const all: Definition[] = Object.values(allMetrics()).flat()
  for (const { name, type, help, labelNames } of all) {
    expect(name).toMatch(/^(flotilla|process|nodejs)_[a-z_]+$/)
    expect(name.endsWith('_total'), name).toBe(type === 'counter')
    if (type === 'histogram') expect(name).toMatch(/_seconds$/)
    expect(help, name).toMatch(/^[A-Z0-9].*\.$/)
    for (const label of labelNames) expect(label).toMatch(/^[a-z_]+$/)
  }
  expect(new Set(all.map(({ name }) => name)).size).toBe(all.length)
})
