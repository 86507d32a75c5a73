import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runFlotilla, startFrontend, startUp, type Flotilla } from './support/flotilla.ts'
import { tempFolder } from './support/temp-folder.ts'
import { until } from './support/until.ts'

const PATH = '/api/nodes/scheduling'

interface Rule {
  model_name: string
  min_replicas: number
  source: string
  state: string
}

async function rulesOf(frontend: Flotilla): Promise<Record<string, Rule>> {
  const { body } = await frontend.admin('GET', PATH)
  return Object.fromEntries((body as Rule[]).map((rule) => [rule.model_name, rule]))
}

test('rules of the configuration are made at every start, and others stay as they are', async () => {
  const folder = tempFolder()
  const [data, file] = [join(folder, 'data'), join(folder, 'rules.yaml')]
  writeFileSync(file, '- model_name: b\n  replicas: all\n')
  const env = {
    FLOTILLA_MODEL_SCHEDULING: '[{"model_name": "a", "min_replicas": 1}]',
    LOCALAI_MODEL_SCHEDULING_CONFIG: file,
  }
  const first = await startFrontend({ data, env })
  expect(await rulesOf(first)).toMatchObject({
    a: { min_replicas: 1, source: 'config' },
    b: { spread_all: true, source: 'config' },
  })
  await first.admin('POST', PATH, { model_name: 'a', min_replicas: 7 })
  await first.admin('POST', PATH, { model_name: 'c', min_replicas: 2 })
  await first.signal('SIGTERM')

  writeFileSync(file, '')
  const second = await startFrontend({ data, env })
  expect(await rulesOf(second)).toMatchObject({
    a: { min_replicas: 1, source: 'config' },
    b: { spread_all: true, source: 'api' },
    c: { min_replicas: 2, source: 'api' },
  })
})

test('a rule of the configuration starts its model without any request', async () => {
  const rules = '[{"model_name": "sim", "min_replicas": 2}]'
  const up = await startUp({ args: ['--max-replicas-per-model', '2', '--model-scheduling', rules] })
  await until(async () => (await rulesOf(up))['sim']?.state === 'met', 30_000)
  expect((await rulesOf(up))['sim']).toMatchObject({ ready: 2, wanted: 2, source: 'config' })
})

test('a mistake in the configuration stops the start before anything is done', async () => {
  const args = ['frontend', '--data', join(tempFolder(), 'data'), '--listen', '127.0.0.1:0']
  const ended = await runFlotilla(args, { FLOTILLA_MODEL_SCHEDULING: '[{"model_name": "m", "replicas": 3}]' })
  expect(ended).toMatchObject({ code: 2, stdout: '' })
  expect(ended.stderr).toContain('flotilla: FLOTILLA_MODEL_SCHEDULING, entry 1 ("m"): replicas: expected "all"')
})
