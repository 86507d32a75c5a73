import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse as parseYaml } from 'yaml'
import { documentKeys } from '../../core/declare/document-keys.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { exampleConfig } from './example.ts'
import { options, type Env, type OptionName } from './options.ts'
import { findConfigFile, fromEnvironment, parseConfigFile, readConfigFile } from './sources.ts'
import { toConfig } from './to-config.ts'

const names = Object.keys(options) as OptionName[]

async function configOf({
  flags = {},
  env = {},
  file = '',
  command,
}: {
  flags?: Record<string, string>
  env?: Env
  file?: string
  command?: string
}) {
  return toConfig({
    flags: new Map(Object.entries(flags).map(([name, value]) => [name, { value, where: `--${name}` }])),
    environment: fromEnvironment(env, names),
    file: await parseConfigFile('flotilla.yaml', file),
    env: { HOME: '/home/me', ...env },
    ...(command === undefined ? {} : { command }),
  })
}

describe('where a value comes from', () => {
  const file = 'listen: 127.0.0.1:3'
  const env = { FLOTILLA_LISTEN: '127.0.0.1:2' }

  test('flags win over the environment, the environment over the file, the file over the default', async () => {
    expect((await configOf({ flags: { listen: '127.0.0.1:1' }, env, file })).listen.port).toBe(1)
    expect((await configOf({ env, file })).listen.port).toBe(2)
    expect((await configOf({ file })).listen.port).toBe(3)
    expect((await configOf({})).listen.port).toBe(8080)
  })

  test('an empty variable counts as not set', async () => {
    expect((await configOf({ env: { FLOTILLA_LISTEN: '' }, file })).listen.port).toBe(3)
  })

  test('the data folder follows XDG', async () => {
    expect((await configOf({})).data).toBe('/home/me/.local/share/flotilla')
    expect((await configOf({ env: { XDG_DATA_HOME: '/data' } })).data).toBe('/data/flotilla')
    expect((await configOf({ env: { XDG_DATA_HOME: 'relative' } })).data).toBe('/home/me/.local/share/flotilla')
  })

  test('a number may be written as a number in the file and as text elsewhere', async () => {
    expect((await configOf({ file: 'max_replicas_per_model: 3' })).max_replicas_per_model).toBe(3)
    expect((await configOf({ env: { FLOTILLA_MAX_REPLICAS_PER_MODEL: '4' } })).max_replicas_per_model).toBe(4)
  })
})

describe('values', () => {
  test('a default may differ from command to command, and never hides what is given', async () => {
    expect((await configOf({ command: 'up' })).worker_listen).toEqual({ host: '127.0.0.1', port: 0 })
    expect((await configOf({ command: 'worker' })).worker_listen).toEqual({ host: '0.0.0.0', port: 9090 })
    const file = 'worker_listen: 127.0.0.1:7'
    expect((await configOf({ command: 'worker', file })).worker_listen.port).toBe(7)
  })

  test('true and false', async () => {
    expect((await configOf({})).auto_approve).toBe(false)
    expect((await configOf({ flags: { auto_approve: 'true' } })).auto_approve).toBe(true)
    expect((await configOf({ env: { FLOTILLA_AUTO_APPROVE: 'true' } })).auto_approve).toBe(true)
    expect((await configOf({ file: 'auto_approve: true' })).auto_approve).toBe(true)
    const env = { FLOTILLA_AUTO_APPROVE: 'false' }
    expect((await configOf({ env, file: 'auto_approve: true' })).auto_approve).toBe(false)
  })

  test('labels, as text or as a map', async () => {
    expect((await configOf({})).node_labels).toEqual({})
    const env = { FLOTILLA_NODE_LABELS: 'tier=fast, зона=Köln 🚢' }
    expect((await configOf({ env })).node_labels).toEqual({ tier: 'fast', зона: 'Köln 🚢' })
    const file = 'node_labels:\n  tier: fast\n  rack: 7\n  spare: true\n  note: a, b'
    expect((await configOf({ file })).node_labels).toEqual({ tier: 'fast', rack: '7', spare: 'true', note: 'a, b' })
  })

  test('frontends to join, as text or as a list', async () => {
    const joined = ['http://a:8080', 'https://b']
    expect((await configOf({})).join).toBeUndefined()
    expect((await configOf({ flags: { join: 'http://a:8080/, https://b' } })).join).toEqual(joined)
    expect((await configOf({ file: 'join:\n  - http://a:8080\n  - https://b/' })).join).toEqual(joined)
  })

  test('rules of the configuration keep the place that they come from', async () => {
    expect((await configOf({})).model_scheduling).toBeUndefined()
    expect((await configOf({ flags: { model_scheduling: '[]' } })).model_scheduling).toEqual({
      value: '[]',
      where: '--model_scheduling',
    })
    const file = '\nmodel_scheduling:\n  - model_name: m\n    replicas: all\nmodel_scheduling_config: rules.yaml'
    const config = await configOf({ file })
    const where = 'flotilla.yaml:2: model_scheduling'
    expect(config.model_scheduling).toEqual({ value: [{ model_name: 'm', replicas: 'all' }], where })
    expect(config.model_scheduling_config).toMatchObject({ value: 'rules.yaml' })
  })

  test("LocalAI's variables for them are read, too; ours win", async () => {
    const theirs = { LOCALAI_MODEL_SCHEDULING: '[1]', LOCALAI_MODEL_SCHEDULING_CONFIG: '/theirs.yaml' }
    expect(await configOf({ env: theirs })).toMatchObject({
      model_scheduling: { value: '[1]', where: 'LOCALAI_MODEL_SCHEDULING' },
      model_scheduling_config: { value: '/theirs.yaml', where: 'LOCALAI_MODEL_SCHEDULING_CONFIG' },
    })
    const config = await configOf({ env: { ...theirs, FLOTILLA_MODEL_SCHEDULING: '[2]' } })
    expect(config).toMatchObject({
      model_scheduling: {
        value: '[2]',
        where: 'FLOTILLA_MODEL_SCHEDULING',
        passedOver: 'LOCALAI_MODEL_SCHEDULING',
      },
      model_scheduling_config: { value: '/theirs.yaml' },
    })
    const unset = await configOf({ env: { ...theirs, FLOTILLA_MODEL_SCHEDULING: '' } })
    expect(unset.model_scheduling).toEqual({ value: '[1]', where: 'LOCALAI_MODEL_SCHEDULING' })
    expect((await configOf({ env: { LOCALAI_LISTEN: '127.0.0.1:1' } })).listen.port).toBe(8080)
  })

  test('a budget is kept as it was written', async () => {
    expect((await configOf({ flags: { vram_budget: '80%' } })).vram_budget).toBe('80%')
    expect((await configOf({ file: 'vram_budget: 12884901888' })).vram_budget).toBe('12884901888')
  })
})

describe('mistakes are refused with the place, the key and what was expected', () => {
  test.each([
    [{ flags: { listen: '8080' } }, '--listen: expected host:port, such as 127.0.0.1:8080, got "8080".'],
    [
      { env: { FLOTILLA_ENGINE_PORTS: '9-1' } },
      'FLOTILLA_ENGINE_PORTS: expected two ports, such as 20000-29999, got "9-1".',
    ],
    [
      { file: '\nlog_level: loud' },
      'flotilla.yaml:2: log_level: expected one of trace, debug, info, warn, error, silent, got "loud".',
    ],
    [
      { file: 'max_replicas_per_model: 0' },
      'flotilla.yaml:1: max_replicas_per_model: expected a whole number from 1 to 1000, got 0.',
    ],
    [{ file: 'listen: [1]' }, 'flotilla.yaml:1: listen: expected host:port, such as 127.0.0.1:8080, got [1].'],
    [
      { file: 'node_name: "a"\nlisten_on: x' },
      'flotilla.yaml:2: listen_on: there is no such option; did you mean listen?',
    ],
    [{ file: 'colour: red' }, 'flotilla.yaml:1: colour: there is no such option; known are data, '],
    [{ env: { FLOTILLA_AUTO_APPROVE: '1' } }, 'FLOTILLA_AUTO_APPROVE: expected true or false, got "1".'],
    [
      { flags: { join: 'frontend:8080' } },
      '--join: expected URLs that begin with http:// or https://, separated by commas, got "frontend:8080".',
    ],
    [{ flags: { join: ',' } }, '--join: expected URLs that begin with'],
    [{ file: 'join: 7' }, 'flotilla.yaml:1: join: expected URLs that begin with'],
    [{ flags: { url: 'ftp://x' } }, '--url: expected a URL that begins with http:// or https://, got "ftp://x".'],
    [
      { flags: { vram_budget: '120%' } },
      '--vram_budget: expected a share such as 80%, a size such as 12GB or 12GiB, or a number of bytes, at least 1 MiB, got "120%".',
    ],
    [{ flags: { node_labels: 'fast' } }, '--node_labels: "fast" has no "="; expected key=value,key=value, got "fast".'],
    [
      { file: 'node_labels:\n  node.replica-slots: 9' },
      'flotilla.yaml:1: node_labels: "node.replica-slots" shows the number of slots;',
    ],
    [{ file: 'node_labels: [a]' }, 'flotilla.yaml:1: node_labels: expected labels as key=value,key=value, got ["a"].'],
    [
      { flags: { node_labels: Array.from({ length: 101 }, (_, i) => `k${i}=v`).join() } },
      '--node_labels: a node may have 100 labels',
    ],
    [{ flags: { node_type: 'gpu' } }, '--node_type: expected one of backend, agent, got "gpu".'],
    [{ flags: { heartbeat_ms: '50' } }, '--heartbeat_ms: expected a whole number from 100 to 600000, got "50".'],
    [
      { flags: { heartbeat_ms: '60000' } },
      'offline_after_ms (60000) must be more than heartbeat_ms (60000): every node would be offline between two',
    ],
    [{ file: 'model_scheduling: 7' }, 'flotilla.yaml:1: model_scheduling: expected a list of rules, got 7.'],
    [{ file: 'a: [1' }, 'flotilla.yaml:1:6: not valid YAML'],
    [{ file: '- listen' }, 'flotilla.yaml: expected options as "name: value", one per line.'],
  ])('%j', async (sources, message) => {
    await expect(configOf(sources)).rejects.toThrow(message)
  })

  test('a value that may hold a password is not repeated', async () => {
    const broken = configOf({ env: { FLOTILLA_DATABASE_URL: 'mysql://me:hunter2@host/db' } })
    await expect(broken).rejects.toThrow(
      'FLOTILLA_DATABASE_URL: expected a URL that begins with postgres:// or postgresql://.',
    )
    await expect(broken).rejects.not.toThrow('hunter2')
    await expect(configOf({ file: 'token: 77301' })).rejects.not.toThrow('77301')
  })

  test('a file that is named must exist', async () => {
    await expect(readConfigFile('/nowhere/flotilla.yaml')).rejects.toThrow(
      'Cannot read the configuration file /nowhere/flotilla.yaml',
    )
  })
})

describe('which file is read', () => {
  test('the named one, else the one here, else the one in the XDG folder, else none', async () => {
    const folder = tempFolder()
    const env = { HOME: join(folder, 'home') }
    const found = async (named?: string) => (await findConfigFile(named, env, folder))?.path
    expect(await found()).toBeUndefined()
    mkdirSync(join(folder, 'home/.config/flotilla'), { recursive: true })
    writeFileSync(join(folder, 'home/.config/flotilla/flotilla.yaml'), '')
    expect(await found()).toBe(join(folder, 'home/.config/flotilla/flotilla.yaml'))
    writeFileSync(join(folder, 'flotilla.yaml'), '')
    expect(await found()).toBe(join(folder, 'flotilla.yaml'))
    writeFileSync(join(folder, 'other.yaml'), '')
    expect(await found(join(folder, 'other.yaml'))).toBe(join(folder, 'other.yaml'))
  })

  test('not a document of models, rules and nodes that has its name, unless that is named', async () => {
    const folder = tempFolder()
    const path = join(folder, 'flotilla.yaml')
    writeFileSync(path, 'models: []\nnodes: []\n')
    expect(await findConfigFile(undefined, { HOME: folder }, folder)).toBeUndefined()
    expect((await findConfigFile(path, {}, folder))?.path).toBe(path)
    writeFileSync(path, 'models: []\nlisten: 127.0.0.1:1\n')
    expect((await findConfigFile(undefined, { HOME: folder }, folder))?.path).toBe(path)
  })

  test('no option is called as what a document holds', () => {
    expect(Object.keys(options).filter((name) => (documentKeys as readonly string[]).includes(name))).toEqual([])
  })
})

describe('config.example.yaml', () => {
  test('is what the options say (after a change: npx vitest -u src/cli/config)', async () => {
    await expect(exampleConfig()).toMatchFileSnapshot('../../../config.example.yaml')
  })

  test('uncommented, it is a valid file that changes nothing', async () => {
    const entries = exampleConfig().match(/^# [a-z_]+: .*$/gm)!
    expect(entries).toHaveLength(names.length)
    const fixed = entries.filter((entry) => !entry.includes('<')).map((entry) => entry.slice(2))
    const values = parseYaml(fixed.join('\n')) as Record<string, unknown>
    const config = await configOf({ file: fixed.join('\n').replace('~/', '/home/me/') })
    expect(config).toEqual(await configOf({}))
    expect(Object.keys(values)).toContain('listen')
  })
})
