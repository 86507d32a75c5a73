import { expect, test } from 'vitest'
import { allMetrics } from './support/all-metrics.ts'
import { opsExpressions, readAlerts, readDashboard } from './support/ops-files.ts'
import { readPromql } from './support/promql.ts'

const defined = new Map<string, readonly string[]>(
  Object.values(allMetrics())
    .flat()
    .flatMap(({ name, type, labelNames }): [string, string[]][] => {
      const labels = ['instance', 'job', ...labelNames]
      if (type !== 'histogram') return [[name, labels]]
      return [
        [`${name}_bucket`, [...labels, 'le']],
        [`${name}_sum`, labels],
        [`${name}_count`, labels],
      ]
    }),
)

test('every metric and label that the dashboard and the alerts name is one that the program has', () => {
  const expressions = opsExpressions()
  expect(expressions.length).toBeGreaterThan(40)
  for (const { where, expression, templates } of expressions) {
    const asked = readPromql(expression)
    for (const { metric, labels } of asked) {
      expect(defined.get(metric), `${where}: ${metric}`).toBeDefined()
      for (const label of labels) expect(defined.get(metric), `${where}: ${metric}`).toContain(label)
    }
    for (const [, label] of templates.matchAll(/\{\{\s*(?:\$labels\.)?([a-z_]+)\s*\}\}/g)) {
      expect(
        asked.some(({ metric }) => defined.get(metric)!.includes(label!)),
        `${where}: {{${label}}}`,
      ).toBe(true)
    }
  }
})

test('panels have their own places, alerts their own names', () => {
  const { panels } = readDashboard()
  const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) => {
    expect(x + w).toBeLessThanOrEqual(24)
    return Array.from({ length: w * h }, (_, i) => `${x + (i % w)} ${y + Math.floor(i / w)}`)
  })
  expect(new Set(cells).size).toBe(cells.length)
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
  const names = readAlerts().map(({ alert }) => alert)
  expect(new Set(names).size).toBe(names.length)
})

test('what is not PromQL is noticed', () => {
  expect(readPromql('sum by (model) (rate(a_total{status=~"5.."}[5m]))')).toEqual([
    { metric: 'a_total', labels: ['status', 'model'] },
  ])
  expect(() => readPromql('sum by (model) (rate(a_total[5m])')).toThrow('Not PromQL')
  expect(() => readPromql('1 + 1')).toThrow('Asks for nothing')
})
