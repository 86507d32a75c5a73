import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runFlotilla, startCommand, startUp } from './support/flotilla.ts'
import { tempFolder } from './support/temp-folder.ts'
import { until } from './support/until.ts'

interface Report {
  interrupted: boolean
  all: { requests: Record<string, number>; tokens_from: string; tokens_out: number; first_token_ms: { count: number } }
  models: {
    model: string
    requests: { answered: number }
    balance: { replicas: { replica: string; answers: number }[] }
  }[]
}

const MIX = `
- { model: sim, share: 3, prompt: 5-40, answer: 8, stream: 50% }
- { model: talk, share: 1, prompt: 3, answer: 4, turns: 2, think: 10ms }
`

test('a cluster is driven with a mix of models, and a run is ended early', async () => {
  const up = await startUp({ args: ['--max-replicas-per-model', '2'] })
  await up.admin('PUT', '/api/models/talk', { engine: 'sim', options: { ttft_ms: 5, tokens_per_s: 500 } })
  await up.admin('POST', '/api/nodes/scheduling', { model_name: 'talk', min_replicas: 2 })
  const ready = async () =>
    ((await up.admin('GET', '/api/replicas')).body as { model_name: string; state: string }[]).filter(
      ({ model_name: name, state }) => name === 'talk' && state === 'ready',
    ).length
  await until(async () => (await ready()) === 2)

  const folder = tempFolder()
  const [mix, page] = [join(folder, 'mix.yaml'), join(folder, 'report.html')]
  writeFileSync(mix, MIX)
  const args = ['bench', '--data', up.data]
  const run = await runFlotilla([...args, '--mix', mix, '--rate', '24', '--for', '1s', '--json', '--html', page])
  expect({ code: run.code, stderr: run.stderr }).toEqual({ code: 0, stderr: `The page is in ${page}.\n` })
  const { all, models, interrupted } = JSON.parse(run.stdout) as Report
  expect([interrupted, all.tokens_from]).toEqual([false, 'usage'])
  expect(all.requests).toMatchObject({ answered: all.requests['due'], failed: 0, not_sent: 0, cut: 0, empty: 0 })
  expect(all.requests['streamed']).toBe(all.first_token_ms.count)
  expect(all.requests['streamed']).toBeLessThan(all.requests['answered']!)
  for (const { requests, balance } of models) {
    expect(balance.replicas.reduce((sum, { answers }) => sum + answers, 0)).toBe(requests.answered)
  }
  expect(models[1]!.balance.replicas.map(({ replica }) => replica).toSorted()).toEqual(['talk#0', 'talk#1'])
  expect(readFileSync(page, 'utf8')).toContain('talk#1 on ')

  const endless = startCommand([...args, 'sim', '--rate', '20', '--for', '1h', '--answer', '1000'])
  const busy = async () =>
    ((await up.admin('GET', '/api/replicas')).body as { in_flight: number }[]).some(({ in_flight: count }) => count > 0)
  await until(busy)
  const { code, stdout } = await endless.signal('SIGINT')
  expect(code).toBe(130)
  expect(stdout).toMatch(/^ +\d+ +unfinished$/m)
  // What it has left behind is no longer worked on.
  await until(async () => !(await busy()))
})
