import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import OpenAI from 'openai'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import type { NodeView, ReplicaView } from '../src/api/admin/schemas.ts'
import { enginesOf, startUp, type Flotilla } from './support/flotilla.ts'
import { llamaEngine, llamaLibrary, skipper } from './support/worker/llama-engine.ts'
import { tempFolder } from './support/temp-folder.ts'
import { isAlive, until } from './support/until.ts'
import { checkOllama } from './ollama-suite.ts'
import { addModel, checkAbort, checkAnswers, inFlight, isReady, replicasOf, retried } from './openai-suite.ts'

const engine = fileURLToPath(new URL('../engines/llama/main.ts', import.meta.url))
const messages = [{ role: 'user' as const, content: 'What is a slot?' }]
const greedy = { model: 'skipper', messages, temperature: 0, max_tokens: 60 }

/** Has several seconds to say, on one place only. */
const endless = { context: 8192, parallel: 1, threads: 1 }
const longAnswer = { messages, max_tokens: 5000, stream: true as const, ignore_eos: true }

/** Built by `flotilla engines install llama-server`, which takes too long for a test, or in PATH. */
const llamaServer = [
  ...globSync(join(homedir(), '.cache/flotilla/llama-server/*/llama-server')),
  ...(process.env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, 'llama-server')),
].find((file) => existsSync(file))

let engineFolder: string
// The first time on a machine it is fetched: 85 MB.
beforeAll(async () => {
  engineFolder = await llamaEngine()
}, 300_000)

/** `up` on a machine that has the engine already. */
function startWithLlama(...args: string[]): Promise<Flotilla> {
  const env = { PATH: `${engineFolder}:${process.env['PATH']}` }
  return startUp({ args: ['--heartbeat-ms', '300', ...args], env })
}

function clientOf(up: Flotilla): OpenAI {
  return new OpenAI({ baseURL: `${up.url}/v1`, apiKey: 'not-needed', maxRetries: 0 })
}

/** The engine alone, with nothing of Flotilla before it. */
async function startEngine(): Promise<string> {
  const flags = ['--port', '0', '--library', await llamaLibrary(), '--model', skipper, '--alias', 'skipper']
  const child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', engine, ...flags, '--context', '1024', '--threads', '1'],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  const ended = once(child, 'exit')
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await ended
  })
  let said = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (said += text))
  await until(() => said.includes('listening on'))
  const [, url] = /listening on (\S+)/.exec(said)!
  await until(async () => (await fetch(`${url}/health`)).status === 200)
  return url!
}

async function theNode(up: Flotilla): Promise<NodeView> {
  return ((await up.admin('GET', '/api/nodes')).body as [NodeView])[0]
}

async function textFrom(url: string): Promise<{ text: string; replica: string | null }> {
  const response = await fetch(`${url}/v1/chat/completions`, { method: 'POST', body: JSON.stringify(greedy) })
  const { choices } = (await response.json()) as OpenAI.ChatCompletion
  return { text: choices[0]!.message.content!, replica: response.headers.get('x-flotilla-replica') }
}

test('a first start serves skipper on two replicas that say what the engine alone says', async () => {
  const up = await startWithLlama('--first-model', 'skipper', '--expose-node-header')
  const line = /^curl .*$/m.exec(up.stdout())![0]
  expect(line).toContain('"model":"skipper"')
  const { stdout } = await promisify(execFile)('sh', ['-c', line])
  expect(stdout.trimEnd().endsWith('data: [DONE]')).toBe(true)

  await until(async () => (await replicasOf(up, 'skipper')).filter(({ state }) => state === 'ready').length === 2)
  const said = new Map<string | null, string>()
  await until(async () => {
    const { text, replica } = await textFrom(up.url)
    said.set(replica, text)
    return said.size === 2
  })
  const { text: alone } = await textFrom(await startEngine())
  expect(alone).toMatch(/slot/i)
  expect([...said.values()]).toEqual([alone, alone])
  // The simulator is there as well, for who asks for it.
  expect((await clientOf(up).chat.completions.create({ model: 'sim', messages, max_tokens: 3 })).choices).toHaveLength(
    1,
  )
})

test('the official client finds what it finds at any other server', async () => {
  const up = await startWithLlama('--first-model', 'skipper')
  const client = clientOf(up)
  await checkAnswers(client, 'skipper')
  await checkOllama(up.url, 'not-needed', 'skipper')

  const properties = { kind: { enum: ['slot', 'node'] }, is_sure: { type: 'boolean' } }
  const schema = { type: 'object', properties, required: ['kind', 'is_sure'], additionalProperties: false }
  const format = { type: 'json_schema' as const, json_schema: { name: 'answer', schema, strict: true } }
  const { choices } = await client.chat.completions.create({ ...greedy, response_format: format })
  const answer = JSON.parse(choices[0]!.message.content!) as { kind: string; is_sure: boolean }
  expect(Object.keys(answer).toSorted()).toEqual(['is_sure', 'kind'])
  expect([typeof answer.is_sure, ['slot', 'node'].includes(answer.kind)]).toEqual(['boolean', true])

  await addModel(up, 'long', 'llama', endless, `file:${skipper}`)
  await until(() => isReady(up, 'long'))
  await checkAbort(up, client, 'long')
  // Its one place is free again: who went away is not computed for.
  const next = await client.chat.completions.create({ model: 'long', messages, temperature: 0, max_tokens: 5 })
  expect(next.usage?.completion_tokens).toBe(5)
})

test.skipIf(!llamaServer)('llama-server serves the same model with the same answers to the same client', async () => {
  const up = await startUp({
    args: ['--heartbeat-ms', '300'],
    env: { PATH: `${dirname(llamaServer!)}:${process.env['PATH']}` },
  })
  const client = clientOf(up)
  const options = { context: 1024, threads: 1, embeddings: true, pooling: 'mean' }
  await addModel(up, 'skipper', 'llama-server', options, `file:${skipper}`)
  await until(() => isReady(up, 'skipper'))
  await retried(() => client.chat.completions.create({ ...greedy, max_tokens: 1 }))
  await checkAnswers(client, 'skipper')
  expect((await textFrom(up.url)).text).toBe((await textFrom(await startEngine())).text)
  await addModel(up, 'long', 'llama-server', { context: 8192, parallel: 1, threads: 1 }, `file:${skipper}`)
  await until(() => isReady(up, 'long'))
  await checkAbort(up, client, 'long')
})

test('a file that is truncated, garbage or gone is told to the replica, the node and who waits, and costs nothing', async () => {
  const up = await startWithLlama()
  const before = await theNode(up)
  const folder = tempFolder()
  const files: Record<string, (path: string) => void> = {
    truncated: (path) => writeFileSync(path, readFileSync(skipper).subarray(0, 3_000_000)),
    garbage: (path) => writeFileSync(path, 'this is no model at all\n'.repeat(1000)),
    gone: () => {},
  }
  const reasons: Record<string, RegExp> = {
    truncated: /truncated\.gguf/,
    garbage: /not a GGUF file|GGUF/,
    gone: /There is no file/,
  }
  for (const [name, write] of Object.entries(files)) {
    const path = join(folder, `${name}.gguf`)
    write(path)
    const model = { name, engine: 'llama', source: `file:${path}`, options: { threads: 1 } }
    // As when the file is gone only later: a model whose file is not there is not added otherwise.
    expect((await up.admin('POST', '/api/models?later=true', model)).status).toBe(200)
    // Gateways learn of a model through the bus.
    await until(async () => (await clientOf(up).models.list()).data.some(({ id }) => id === name))
    const refused = await clientOf(up)
      .chat.completions.create({ model: name, messages })
      .catch((error: unknown) => error)
    expect(refused).toMatchObject({ status: 503, message: expect.stringMatching(reasons[name]!) })
    let failed: ReplicaView | undefined
    await until(async () => {
      failed = (await replicasOf(up, name)).find(({ state }) => state === 'failed')
      return failed !== undefined
    })
    expect(failed!.error).toMatch(reasons[name]!)
    // The log of the node, too.
    expect(up.stdout() + up.stderr()).toMatch(new RegExp(`"${name}#0".*${reasons[name]!.source}`))
    expect(await inFlight(up, name)).toBe(0)
    expect((await up.admin('DELETE', `/api/models/${name}`)).status).toBe(200)
  }
  // Only the simulator of the first start is left.
  await until(() => enginesOf(up.data).length === 1)
  expect(await replicasOf(up, 'sim')).toMatchObject([{ state: 'ready' }])
  await until(async () => {
    const { reserved_ram: reserved, in_flight_count: busy, replica_count: count } = await theNode(up)
    return reserved <= before.reserved_ram && busy === 0 && count === 1
  })
})

test('a file that is deleted while it is loaded goes on being served, and is missed by the next start', async () => {
  const up = await startWithLlama()
  const client = clientOf(up)
  const file = join(tempFolder(), 'mine.gguf')
  copyFileSync(skipper, file)
  await addModel(up, 'mine', 'llama', { threads: 1 }, `file:${file}`)
  await until(() => isReady(up, 'mine'))
  const before = await retried(() => client.chat.completions.create({ ...greedy, model: 'mine' }))
  rmSync(file)
  const after = await client.chat.completions.create({ ...greedy, model: 'mine' })
  expect(after.choices[0]!.message.content).toBe(before.choices[0]!.message.content)
  expect((await up.admin('POST', '/api/models/mine/unload', {})).status).toBe(200)
  await until(async () => (await replicasOf(up, 'mine')).some(({ state }) => state === 'failed'))
  const failed = (await replicasOf(up, 'mine')).find(({ state }) => state === 'failed')
  expect(failed!.error).toContain(`There is no file or folder ${file}`)
})

test('an engine that is killed in the middle of an answer: an honest error, right counts, another in its place', async () => {
  const up = await startWithLlama('--first-model', 'none')
  const client = clientOf(up)
  await addModel(up, 'long', 'llama', endless, `file:${skipper}`)
  await until(() => isReady(up, 'long'))
  const stream = await retried(() => client.chat.completions.create({ ...longAnswer, model: 'long' }))
  const parts = stream[Symbol.asyncIterator]()
  await parts.next()
  const [pid] = enginesOf(up.data)
  process.kill(pid!, 'SIGKILL')
  await expect(
    (async () => {
      for (let part = await parts.next(); !part.done; part = await parts.next());
    })(),
  ).rejects.toThrow(/engine|replica|terminated|ended|closed/i)
  await until(async () => (await isReady(up, 'long')) && (await inFlight(up, 'long')) === 0)
  expect(isAlive(pid!)).toBe(false)
  const again = await retried(() => client.chat.completions.create({ ...greedy, model: 'long' }))
  expect(again.choices[0]!.message.content).toMatch(/slot/i)
  expect(enginesOf(up.data)).toHaveLength(1)
})

test('without the engine and a way to get it, the simulator stands in, and the screen says why and what to do', async () => {
  const bin = tempFolder()
  writeFileSync(join(bin, 'npm'), '#!/bin/sh\necho "npm error network is unreachable" >&2\nexit 1\n', { mode: 0o755 })
  const env = { PATH: `${bin}:${process.env['PATH']}` }
  const up = await startUp({ args: ['--first-model', 'skipper'], env })
  expect(up.stdout()).toMatch(/Models\s+sim$/m)
  expect(up.stdout()).toMatch(/skipper is not there yet.*"llama" could not be installed.*network is unreachable/)
  expect(up.stdout()).toContain('flotilla engines install llama')
  const line = /^curl .*$/m.exec(up.stdout())![0]
  const { stdout } = await promisify(execFile)('sh', ['-c', line])
  expect(stdout.trimEnd().endsWith('data: [DONE]')).toBe(true)
  expect(existsSync(join(up.data, 'worker', 'engines', 'llama', 'current.json'))).toBe(false)
})

test('what the first start has installed is all that the next one needs: no network, no npm', async () => {
  // As npm is set up on this machine.
  const asItIs = process.env as Record<string, string>
  const first = await startUp({ args: ['--first-model', 'skipper'], env: asItIs, withinMs: 120_000 })
  expect(first.stdout()).toMatch(/Installing the engine of skipper \(once\): /)
  expect(first.stdout()).toMatch(/Models\s+skipper$/m)
  await first.signal('SIGTERM')
  const bin = tempFolder()
  const nowhere = 'http://127.0.0.1:9'
  writeFileSync(join(bin, 'npm'), '#!/bin/sh\nexit 1\n', { mode: 0o755 })
  const env = { PATH: `${bin}:/usr/bin:/bin`, http_proxy: nowhere, https_proxy: nowhere, npm_config_registry: nowhere }
  const again = await startUp({ data: first.data, env })
  expect(again.stdout()).toMatch(/Models\s+skipper$/m)
  expect((await textFrom(again.url)).text).toMatch(/slot/i)
}, 180_000)
