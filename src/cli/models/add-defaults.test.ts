import { resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Inspected } from '../../api/admin/model-schemas.ts'
import { toHeaderMessage } from '../../api/header-message.ts'
import { aHeader } from '../../../test/support/builders.ts'
import { aCluster, flotilla, refused } from '../../../test/support/cli/cli.ts'
import { aSavedModel } from '../../../test/support/cli/cli-views.ts'

function inspected(fields: Parameters<typeof aHeader>[0] = {}): Inspected {
  return { payload_bytes: 1, header: toHeaderMessage(aHeader(fields)) }
}

async function add(args: string[], found: unknown = inspected()) {
  const cluster = await aCluster({
    'GET /api/models': [],
    'GET /api/nodes': [],
    'GET /api/nodes/scheduling': [],
    'POST /api/models': aSavedModel({ name: 'm' }),
    'POST /api/models/inspect': found,
  })
  const said = await flotilla(['models', 'add', 'm', ...args, '--data', cluster.data])
  const bodiesOf = (call: string) => cluster.calls.flatMap((one) => (one[0] === call ? [one[1]] : []))
  return { ...said, saved: bodiesOf('POST /api/models')[0], asked: bodiesOf('POST /api/models/inspect') }
}

const URL = 'https://mirror/a.gguf?token=secret'

describe('what nobody says of a new model', () => {
  test('a GGUF file runs on llama, with the context it was trained for but at most 8192, and that is told', async () => {
    const { code, stdout, saved, asked } = await add(['--source', URL], inspected({ context: 131_072 }))
    expect([code, saved]).toMatchObject([0, { engine: 'llama', source: URL, options: { context: 8192 } }])
    expect(asked).toEqual([{ source: URL, options: {}, engine: 'llama' }])
    expect(stdout).toContain(
      'm is added.\nEngine llama: its files are GGUF.\n' +
        'Context of 8192 tokens, of the 131072 that it was trained for.\n',
    )
    const small = await add(['--source', URL], inspected({ context: 512 }))
    expect(small.saved).toMatchObject({ options: { context: 512 } })
    expect(small.stdout).toContain('Context of 512 tokens, all that it was trained for.\n')
  })

  test('what is said stays so, and then nothing is looked into', async () => {
    const flags = ['--context', '16384', '--parallel', '2', '--engine', 'llama-server', '--option', 'flash_attn=on']
    const { saved, asked, stdout } = await add(['--source', URL, ...flags])
    expect(saved).toMatchObject({
      engine: 'llama-server',
      options: { context: 16_384, parallel: 2, flash_attn: 'on' },
    })
    expect([asked, stdout.includes('Context')]).toEqual([[], false])
    const own = await add(['--source', URL, '--option', 'ctx-size=4096'])
    expect(own.saved).toMatchObject({ engine: 'llama', options: { 'ctx-size': 4096 } })
    expect((await add(['--source', 'hf:o/r', '--engine', 'vllm'])).saved).toMatchObject({ options: {} })
  })

  test('a repository is looked into; what is not one GGUF model needs an engine', async () => {
    expect((await add(['--source', 'hf:o/r'])).saved).toMatchObject({ engine: 'llama', options: { context: 2048 } })
    const tensors = await add(['--source', 'hf:o/r'], inspected({ format: 'safetensors' }))
    expect(tensors).toMatchObject({
      code: 2,
      stderr:
        'flotilla models add: --engine is needed, for its files are not one GGUF model: vllm and sglang run safetensors.\n',
    })
    const unknown = await add(['--source', 'hf:o/r'], { payload_bytes: null, header: null })
    expect(unknown.stderr).toContain('flotilla engines lists what there is')
    expect((await add(['--source', 'ollama:llama3'])).stderr).toContain('ollama runs ollama: sources')
    expect((await add([])).stderr).toContain('--source is needed, or --engine of one that needs no files')
    expect([tensors.saved, unknown.saved]).toEqual([undefined, undefined])
  })

  test('files that cannot be looked into now keep no model from being added', async () => {
    const away = refused(503, 'unavailable', 'No node that could run it is online. Try again.')
    const { code, saved, stdout } = await add(['--source', 'file:/models/a.gguf'], away)
    expect([code, saved]).toMatchObject([0, { engine: 'llama', options: {} }])
    expect(stdout.replaceAll('\n', ' ')).toContain(
      'Its files cannot be looked into now, so the engine chooses the context: No node that could run it is online. Try again.',
    )
    const unsaid = await add(['--source', 'hf:o/r'], away)
    expect([unsaid.code, unsaid.saved]).toEqual([2, undefined])
  })

  test.each([
    [['--context', '0'], '--context: expected a whole number, got "0"'],
    [['--parallel', 'many'], '--parallel: expected a whole number, got "many"'],
    [['--context', '1', '--option', 'context=2'], 'give --context or --option context=…, not both'],
    [['--source', 'ftp://x'], 'it must begin with file:/'],
    [['--source', 'hf:qwen'], 'it must be hf:organization/repository'],
    [['--source', 'models/a.gguf'], `a file on the nodes themselves is written file:${resolve('models/a.gguf')}`],
  ])('%j is a mistake, told before anything is asked', async (args, message) => {
    const { code, stderr, asked, saved } = await add(['--source', URL, ...args])
    expect([code, asked, saved]).toEqual([2, [], undefined])
    expect(stderr).toContain(message)
  })
})
