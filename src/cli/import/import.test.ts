import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { documentInput } from '../../api/admin/document.ts'
import { bearerToken, sendJson } from '../../http/server.ts'
import { aCluster, flotilla } from '../../../test/support/cli/cli.ts'
import { serve } from '../../../test/support/http/http.ts'
import { aPlanChange, aPlanView } from '../../../test/support/control/plan-views.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import type { Imported } from './imported.ts'

const sample = (name: string): string => fileURLToPath(new URL(`testdata/${name}`, import.meta.url))

/** What an import finds, and that a frontend would take it. */
async function imported(...args: string[]): Promise<Imported> {
  const { code, stdout, stderr } = await flotilla(['import', ...args, '--json'])
  expect({ code, stderr }).toMatchObject({ code: 0 })
  const found = JSON.parse(stdout) as Imported
  expect(documentInput.safeParse(found.document).error).toBeUndefined()
  for (const note of found.notes) expect(stderr).toContain(note)
  return found
}

describe('llama-swap', () => {
  test('commands of llama-server become models of that engine, with flags as options', async () => {
    const { document } = await imported('llama-swap', sample('llama-swap.yaml'))
    expect(document.models.slice(0, 2)).toEqual([
      {
        name: 'qwen2.5-coder',
        engine: 'llama-server',
        source: 'file:/models/qwen2.5-coder-7b-q4_k_m.gguf',
        options: { n_gpu_layers: 99, flash_attn: 'on', context: 8192, parallel: 4, cache_type_k: 'q8_0' },
      },
      {
        name: 'qwen-vl',
        engine: 'llama-server',
        source: 'file:/models/qwen-vl.gguf',
        options: { mmproj: 'file:/models/mmproj-qwen-vl.gguf', jinja: true },
      },
    ])
  })

  test('any other command is run as it is, and what has no place is told', async () => {
    const { document, notes } = await imported('llama-swap', sample('llama-swap.yaml'))
    expect(document.models.slice(2).map(({ engine, options }) => [engine, options!['command']])).toEqual([
      [
        'command',
        `CUDA_VISIBLE_DEVICES=0 exec /opt/whisper.cpp/whisper-server --host 127.0.0.1 --port {{port}} -m '\${env.WHISPER_MODELS}/ggml-base.bin' --prompt 'Well, it'\\''s fine'`,
      ],
      ['command', 'exec docker run --rm --name vllm -p 8000:8000 vllm/vllm-openai --model org/model'],
    ])
    expect(document.rules).toEqual([
      { model_name: 'qwen2.5-coder', scale_to_zero_after_s: 300 },
      { model_name: 'whisper', min_replicas: 1 },
    ])
    const told = notes.join('\n')
    expect(told).toContain('qwen2.5-coder: its aliases (gpt-4o-mini, coder) are not known here.')
    expect(told).toContain('in place of /opt/llama.cpp/llama-server')
    expect(told).toContain('vllm: its command does not take ${PORT}')
    expect(told).toContain('vllm: cmdStop has no place here')
    expect(told).toContain('vllm: filters has no place here.')
    expect(told).toContain('The group forever: what runs together is decided by the memory')
  })

  test('what is no such configuration is told with its line', async () => {
    const path = join(tempFolder(), 'x.yaml')
    writeFileSync(path, 'models:\n  a:\n    proxy: x\n')
    const { code, stderr } = await flotilla(['import', 'llama-swap', path])
    expect(code).toBe(2)
    expect(stderr).toContain(`${path}:2: models.a.cmd`)
  })
})

describe('LocalAI', () => {
  /** Answers as its admin API does. */
  const aLocalAi = () =>
    serve((request, response) => {
      const files: Record<string, string> = {
        '/api/nodes': 'localai-nodes.json',
        '/api/nodes/scheduling': 'localai-rules.json',
      }
      if (bearerToken(request) !== 'admin') return sendJson(response, 401, { error: 'missing authorization' })
      const file = files[request.url ?? '']
      if (file === undefined) return sendJson(response, 404, { error: 'not found' })
      sendJson(response, 200, JSON.parse(readFileSync(sample(file), 'utf8')))
    })
  const keyFile = (key: string): string => {
    const path = join(tempFolder(), 'key')
    writeFileSync(path, `${key}\n`)
    return path
  }

  test('labels, caps and rules come from its API; models from its folder', async () => {
    const folder = sample('localai-models')
    const url = await aLocalAi()
    const args = ['--url', url, '--key-file', keyFile('admin'), '--folder', folder]
    const { document, notes } = await imported('localai', ...args)
    expect(document).toEqual({
      models: [
        {
          name: 'llama-3.1-8b',
          engine: 'llama',
          source: `file:${join(folder, 'llama-3.1-8b-instruct-q4_k_m.gguf')}`,
          options: { context: 8192 },
        },
        {
          name: 'qwen-vl',
          engine: 'llama-server',
          source: 'hf:org/qwen-vl-gguf/qwen-vl-q4.gguf',
          options: { mmproj: `file:${join(folder, 'mmproj-qwen-vl.gguf')}` },
        },
        { name: 'big', engine: 'vllm', source: 'hf:org/big-model' },
      ],
      rules: [
        {
          model_name: 'llama-3.1-8b',
          min_replicas: 1,
          max_replicas: 4,
          node_selector: { tier: 'gpu', 'gpu.vram': '24GB' },
        },
        { model_name: 'embedder', spread_all: true },
      ],
      nodes: [
        {
          name: 'gpu-1',
          labels: { tier: 'gpu', 'gpu.vram': '24GB' },
          max_replicas_per_model: 2,
          vram_budget: '80%',
        },
        { name: 'cpu-1', drain: true },
      ],
    })
    const told = notes.join('\n')
    expect(told).toContain('route_policy prefix_cache (least_loaded is used) has no place here')
    expect(told).toContain('Node agent-1 is an agent')
    expect(told).toContain('flux: nothing here does what the backend diffusers does.')
    expect(told).toContain('qwen-vl: gpu_layers has no place here.')
    expect(told).toContain('The rule of embedder waits for its model')
  })

  test('a wrong key and a server that is none are told with what to do', async () => {
    const url = await aLocalAi()
    const wrong = await flotilla(['import', 'localai', '--url', url, '--key-file', keyFile('wrong')])
    expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining('--key-file names a file that holds one') })
    const gone = await flotilla(['import', 'localai', '--url', 'http://127.0.0.1:1'])
    expect(gone).toMatchObject({ code: 1, stderr: expect.stringContaining('Cannot reach LocalAI') })
    const none = await flotilla(['import', 'localai'])
    expect(none).toMatchObject({ code: 2, stderr: expect.stringContaining('Name --url, --folder, or both') })
  })

  test('its scheduling file is applied as it is', async () => {
    const { data, calls } = await aCluster({ 'POST /api/plan': aPlanView() })
    const file = sample('localai-scheduling.yaml')
    const { code, stderr } = await flotilla(['plan', '-f', file, '--data', data])
    expect({ code, stderr }).toMatchObject({ code: 0 })
    expect(stderr).toContain('The rule of llama-3.1-8b has more: balance_abs_threshold, balance_rel_threshold')
    const [, body] = calls.find((call): call is [string, never] => Array.isArray(call))!
    expect(body).toMatchObject({
      document: {
        rules: [
          { model_name: 'llama-3.1-8b', min_replicas: 1, route_policy: 'least_loaded' },
          { model_name: 'embedder', spread_all: true },
          { model_name: 'whisper-base', min_replicas: 1 },
        ],
      },
    })
  })
})

/** A folder as Ollama keeps it, with models by their path below the registry. */
function anOllamaStore(models: Record<string, Record<string, string>>): string {
  const root = tempFolder()
  for (const [path, parts] of Object.entries(models)) {
    const layers = Object.entries(parts).map(([kind, text]) => {
      const hex = createHash('sha256').update(text).digest('hex')
      mkdirSync(join(root, 'blobs'), { recursive: true })
      writeFileSync(join(root, 'blobs', `sha256-${hex}`), text)
      return { mediaType: `application/vnd.ollama.image.${kind}`, digest: `sha256:${hex}`, size: text.length }
    })
    const file = join(root, 'manifests', path)
    mkdirSync(dirname(file), { recursive: true })
    const mediaType = 'application/vnd.docker.distribution.manifest.v2+json'
    writeFileSync(file, JSON.stringify({ schemaVersion: 2, mediaType, config: {}, layers }))
  }
  return root
}

describe('Ollama', () => {
  test('the files of its folder are run where they are', async () => {
    const folder = anOllamaStore({
      'registry.ollama.ai/library/llama3.2/latest': { model: 'GGUF a', template: 't', params: '{"num_ctx":4096}' },
      'registry.ollama.ai/library/llava/7b': { model: 'GGUF b', projector: 'GGUF p', system: 'Be kind.' },
      'registry.ollama.ai/someone/mine/v1': { model: 'GGUF c', params: '{"stop":["x"]}' },
      'hf.co/org/repo/Q4_K_M': { model: 'GGUF d' },
      'registry.ollama.ai/library/cloud/latest': { license: 'none' },
    })
    const blob = (text: string): string =>
      `file:${join(folder, 'blobs', `sha256-${createHash('sha256').update(text).digest('hex')}`)}`
    const { document, notes } = await imported('ollama', '--folder', folder)
    expect(document.models).toEqual([
      { name: 'hf.co/org/repo:Q4_K_M', engine: 'llama', source: blob('GGUF d') },
      { name: 'llama3.2', engine: 'llama', source: blob('GGUF a'), options: { context: 4096 } },
      { name: 'llava:7b', engine: 'llama-server', source: blob('GGUF b'), options: { mmproj: blob('GGUF p') } },
      { name: 'someone/mine:v1', engine: 'llama', source: blob('GGUF c') },
    ])
    const told = notes.join('\n')
    expect(told).toContain('cloud has no file that could be run.')
    expect(told).toContain('llava:7b: its system has no place here: send it with each request.')
    expect(told).toContain('someone/mine:v1: its parameters (stop) are not kept')
  })

  test('what one that runs lists is run by Ollama again', async () => {
    const url = await serve((_, response) =>
      sendJson(response, 200, { models: [{ name: 'llama3.2:latest' }, { name: 'qwen:7b' }] }),
    )
    const { document } = await imported('ollama', '--url', url)
    expect(document.models).toEqual([
      { name: 'llama3.2', engine: 'ollama', source: 'ollama:llama3.2:latest' },
      { name: 'qwen:7b', engine: 'ollama', source: 'ollama:qwen:7b' },
    ])
  })

  test('a folder that is none is told', async () => {
    const { code, stderr } = await flotilla(['import', 'ollama', '--folder', tempFolder()])
    expect(code).toBe(2)
    expect(stderr).toContain("is no folder of Ollama's")
  })
})

describe('what was found', () => {
  const swap = sample('llama-swap.yaml')

  test('is printed as a document that can be applied, and nothing is changed', async () => {
    const { data, calls } = await aCluster({ 'POST /api/plan': aPlanView() })
    const { stdout, stderr } = await flotilla(['import', 'llama-swap', swap, '--data', data])
    expect(calls).toEqual([])
    expect(stderr).toContain('4 models, 2 rules and 0 nodes; nothing was changed.')
    const file = join(tempFolder(), 'cluster.yaml')
    writeFileSync(file, stdout)
    expect((await flotilla(['plan', '-f', file, '--data', data])).code).toBe(0)
    expect(calls).toHaveLength(1)
  })

  test('is applied when that is said, after a yes', async () => {
    const changes = [aPlanChange({ name: 'whisper' })]
    const { data, calls } = await aCluster({
      'POST /api/plan': aPlanView({ changes, revision: 'rev1' }),
      'POST /api/apply': { revision: 'rev2', changes, absent_nodes: [] },
    })
    const asked = ['import', 'llama-swap', swap, '--data', data, '--apply']
    expect(await flotilla(asked)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('flotilla import llama-swap'),
    })
    const { code, stdout } = await flotilla([...asked, '--yes'])
    expect([code, calls.filter((call) => call[0] === 'POST /api/apply').length]).toEqual([0, 1])
    expect(stdout).toContain('Applied 1 change.')
  })

  test('--yes alone is a mistake', async () => {
    expect(await flotilla(['import', 'llama-swap', swap, '--yes'])).toMatchObject({ code: 2 })
  })
})
