import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { silentLogger } from '../../platform/run/log.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { readDeclaredRules } from './read-declared-rules.ts'

const INLINE = 'FLOTILLA_MODEL_SCHEDULING'
const FILE = 'FLOTILLA_MODEL_SCHEDULING_CONFIG'

function yamlFile(text: string): string {
  const path = join(tempFolder(), 'rules.yaml')
  writeFileSync(path, text)
  return path
}

function read({ json, list, path }: { json?: string; list?: unknown[]; path?: string }, log = silentLogger) {
  const value = json ?? list
  const inline = value === undefined ? undefined : { value, where: INLINE }
  const file = path === undefined ? undefined : { value: path, where: FILE }
  return readDeclaredRules({ inline, file }, log)
}

async function mistakeOf(given: Parameters<typeof read>[0]): Promise<string> {
  return read(given).then(
    () => 'it was accepted',
    (error: Error) => error.message,
  )
}

describe('rules of the configuration', () => {
  test('are read as the API reads them, those given inline first', async () => {
    const json = '[{"model_name": "b", "node_selector": {"tier": "fast"}, "min_replicas": 1, "max_replicas": 4}]'
    const path = yamlFile(`
# Everywhere.
- model_name: org/a
  replicas: All
  node_selector: { zone: [a, b], disk: "!slow", "!spot": "" }
  route_policy: round_robin
- { model_name: c, scale_to_zero_after_s: 1800 }
`)
    const plain = { node_selector: {}, min_replicas: 0, max_replicas: 0, spread_all: false }
    const rest = { scale_to_zero_after_s: null, route_policy: 'least_loaded' }
    expect(await read({ json, path })).toEqual([
      { ...plain, ...rest, model_name: 'b', node_selector: { tier: 'fast' }, min_replicas: 1, max_replicas: 4 },
      {
        ...plain,
        ...rest,
        model_name: 'org/a',
        node_selector: { zone: ['a', 'b'], disk: '!slow', '!spot': '' },
        spread_all: true,
        route_policy: 'round_robin',
      },
      { ...plain, ...rest, model_name: 'c', scale_to_zero_after_s: 1800 },
    ])
  })

  test('may stand as a list in a file of options', async () => {
    expect(await read({ list: [{ model_name: 'm', replicas: true }] })).toMatchObject([{ spread_all: true }])
  })

  test('that are none are something else than no configuration', async () => {
    expect(await read({})).toBeUndefined()
    expect(await read({ json: '[]' })).toEqual([])
    expect(await read({ path: yamlFile('# nothing yet\n') })).toEqual([])
    expect(await read({ json: ' [ ] ', path: yamlFile('') })).toEqual([])
  })

  test('given under two names are told of, and the first counts', async () => {
    const lines: string[] = []
    const log = pino({ base: null }, { write: (line: string) => void lines.push(line) })
    const inline = { value: '[{"model_name": "m"}]', where: INLINE, passedOver: 'LOCALAI_MODEL_SCHEDULING' }
    expect(await readDeclaredRules({ inline, file: undefined }, log)).toHaveLength(1)
    expect(JSON.parse(lines[0]!)).toMatchObject({ used: INLINE, ignored: 'LOCALAI_MODEL_SCHEDULING', level: 40 })
    expect(lines).toHaveLength(1)
  })
})

describe('a mistake stops the start, with its source, its entry and what to do', () => {
  const entry = (fields: object) => JSON.stringify([{ model_name: 'ok' }, { model_name: 'qwen', ...fields }])
  const second = `${INLINE}, entry 2 ("qwen"): `

  test.each([
    [{ min_replicas: -1 }, `${second}min_replicas: must be at least 0.`],
    [{ max_replicas: -1 }, `${second}max_replicas: must be at least 0.`],
    [{ min_replicas: 3, max_replicas: 2 }, `${second}max_replicas: must be 0 (no cap) or at least min_replicas.`],
    [{ replicas: 'all', min_replicas: 1 }, `${second}replicas: is mutually exclusive with min_replicas and`],
    [{ replicas: 3 }, 'for a number use min_replicas and max_replicas.'],
    [{ replicas: 'some' }, `${second}replicas: expected "all" (one on every node that matches) or "auto"`],
    [{ route_policy: 'prefix' }, `${second}route_policy: expected one of least_loaded, round_robin, session.`],
    [{ node_selector: { rack: 7 } }, `${second}node_selector.rack: must be text, or a list of texts; a number needs`],
    [{ min_replica: 1 }, `${second}min_replica: there is no such setting; did you mean min_replicas`],
    [{ colour: 1 }, `${second}colour: there is no such setting; known are model_name, node_selector,`],
  ])('%j', async (fields, message) => {
    const text = await mistakeOf({ json: entry(fields) })
    expect(text).toContain(message)
    expect(text.split('\n')).toHaveLength(1)
  })

  test.each([
    ['[{"min_replicas": 1}]', `${INLINE}, entry 1: model_name is required, as text.`],
    ['[{"model_name": 7}]', `${INLINE}, entry 1: model_name is required, as text.`],
    ['[{"model_name": ""}]', `${INLINE}, entry 1: model_name: must not be empty.`],
    ['["qwen"]', `${INLINE}, entry 1: expected a rule, with a model_name.`],
    ['[null]', `${INLINE}, entry 1: expected a rule, with a model_name.`],
    [
      '{"model_name": "m"}',
      `${INLINE}: expected a list of rules, such as [{"model_name": "qwen", "min_replicas": 1}].`,
    ],
    ['[{"model_name": "m",}]', `${INLINE}: not valid JSON at character 21;`],
    ['', `${INLINE}: not valid JSON at character 1;`],
  ])('%s', async (json, message) => {
    expect(await mistakeOf({ json })).toContain(message)
  })

  test('of a file is told with its line', async () => {
    const path = yamlFile('- model_name: a\n\n- model_name: b\n  min_replicas: many\n')
    expect(await mistakeOf({ path })).toBe(`${path}:3, entry 2 ("b"): min_replicas: must be a whole number.`)
    const broken = yamlFile('- model_name: a\n  x: [\n')
    expect(await mistakeOf({ path: broken })).toMatch(/rules\.yaml:\d+:\d+: not valid YAML: /)
    const twice = yamlFile('- model_name: a\n  model_name: b\n')
    expect(await mistakeOf({ path: twice })).toContain('not valid YAML: ')
    const map = yamlFile('model_name: a\n')
    expect(await mistakeOf({ path: map })).toBe(
      `${map}: expected a list of rules, each beginning with "- model_name: ".`,
    )
  })

  test('of a file that cannot be read names the variable and the path', async () => {
    expect(await mistakeOf({ path: '/nowhere/rules.yaml' })).toContain(
      `${FILE}: cannot read /nowhere/rules.yaml: there is no such file`,
    )
    expect(await mistakeOf({ path: tempFolder() })).toContain(`${FILE}: cannot read /`)
    const large = yamlFile(`#${' '.repeat(4 * 1024 * 1024)}`)
    expect(await mistakeOf({ path: large })).toContain(`${large} has more than 4194304 bytes`)
  })

  test('aliases that multiply do no harm', async () => {
    const bomb = Array.from({ length: 9 }, (_, i) => `- &a${i + 1} [${Array(10).fill(`*a${i}`).join(', ')}]`)
    const path = yamlFile(`- &a0 [x]\n${bomb.join('\n')}\n`)
    expect(await mistakeOf({ path })).toContain(`${path}: not valid YAML: `)
  })

  test('a model that is listed twice, in whichever source', async () => {
    const path = yamlFile('- model_name: m\n')
    expect(await mistakeOf({ json: '[{"model_name": "m"}]', path })).toBe(
      `${path}:1, entry 1 ("m"): the model is listed already, as ${INLINE}, entry 1: keep one of them.`,
    )
  })

  test('several are told at once, but not without end', async () => {
    const list = Array.from({ length: 12 }, (_, i) => ({ model_name: `m${i}`, min_replicas: -1 }))
    const lines = (await mistakeOf({ list })).split('\n')
    expect(lines).toHaveLength(11)
    expect(lines[9]).toContain('entry 10 ("m9"): min_replicas')
    expect(lines[10]).toBe('and 2 more.')
  })

  test('more rules than there may be', async () => {
    const list = Array.from({ length: 10_001 }, (_, i) => ({ model_name: `m${i}` }))
    expect(await mistakeOf({ list })).toContain('10001 rules are configured; 10000 are the most')
  })
})
