import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { toHeaderMessage } from '../../api/header-message.ts'
import type { Bus } from '../../bus/bus.ts'
import { ggufHeaderBytes, writeGguf } from '../../model-files/header/testing/write-gguf.ts'
import { publishedModels } from '../../model-files/header/testing/published-models.ts'
import { systemClock, type Clock } from '../../platform/run/clock.ts'
import { AppError } from '../../platform/errors.ts'
import type { Handler } from '../../http/server.ts'
import { silentLogger } from '../../platform/run/log.ts'
import type { StoredFacts } from '../../store/nouns/model-facts.ts'
import { aHeader, aModel, aNode, aNodeEngine } from '../../../test/support/builders.ts'
import { serve } from '../../../test/support/http/http.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { until } from '../../../test/support/until.ts'
import { VirtualClock } from '../../../test/support/virtual-clock.ts'
import { startModelFacts, type FactsWorld } from './model-facts.ts'

interface SceneOptions {
  endpoint?: string
  clock?: Clock
  ask?: (nodeId: string, message: unknown) => Promise<unknown>
  save?: (facts: StoredFacts) => Promise<void>
}

/** A reader of facts, with the facts it has saved and the nodes it has asked. */
function aScene({ endpoint = 'http://127.0.0.1:9', clock = systemClock, ask, save }: SceneOptions = {}) {
  const saved: StoredFacts[] = []
  const asked: string[] = []
  const modelsFolder = tempFolder()
  let changes = 0
  const bus = {
    async request(_name: string, message: unknown, { nodeId }: { nodeId: string }) {
      asked.push(nodeId)
      return ask?.(nodeId, message)
    },
  } as unknown as Bus
  const reader = startModelFacts({
    save: save ?? (async (facts) => void saved.push(facts)),
    bus,
    hub: { endpoint, token: 'hf_secret' },
    modelsFolder,
    clock,
    log: silentLogger,
    random: () => 0.5,
    onChange: () => (changes += 1),
  })
  onTestFinished(() => reader.dispose())
  const look = (fields: Partial<FactsWorld>): void =>
    reader.look({ nowMs: 1000, models: [], nodes: [], facts: [], ...fields })
  return { reader, saved, asked, modelsFolder, look, changes: () => changes }
}

const content = { metadata: publishedModels[0]!.metadata, tensors: [{ name: 'blk.0.attn_q.weight', bytes: 6400 }] }
const fileBytes = Buffer.concat([ggufHeaderBytes(content), Buffer.alloc(6400)])

/** A hub with one model in it, which wants to see the token. */
const hub: Handler = async (request, response) => {
  if (request.headers.authorization !== 'Bearer hf_secret') {
    response.writeHead(401)
    response.end()
    return
  }
  response.writeHead(200, { 'content-length': fileBytes.length })
  response.end(request.method === 'HEAD' ? undefined : fileBytes)
}

test('what the file of a model on the hub says is read with the token, saved and told', async () => {
  const { look, saved, changes } = aScene({ endpoint: await serve(hub) })
  look({ models: [aModel({ source: 'hf:org/name/model.gguf' })] })
  await until(() => changes() === 1)
  expect(saved).toMatchObject([
    { modelName: 'm', revision: 'r1', payloadBytes: fileBytes.length, problem: null, retryAtMs: null },
  ])
  expect(saved[0]!.header).toMatchObject({ architecture: 'llama', layers: 32, weightsBytes: 6400 })
})

test('a file below the models folder is read there, a folder with it, and nothing outside', async () => {
  const { look, saved, modelsFolder } = aScene()
  const outside = tempFolder()
  writeGguf(join(outside, 'model.gguf'), content)
  writeGguf(join(modelsFolder, 'a.gguf'), content)
  mkdirSync(join(modelsFolder, 'folder'))
  writeGguf(join(modelsFolder, 'folder', 'b.gguf'), content)
  symlinkSync(outside, join(modelsFolder, 'out'))
  const sources = ['frontend:a.gguf', 'frontend:folder', 'frontend:out/model.gguf']
  for (const [index, source] of sources.entries()) look({ models: [aModel({ name: `m${index}`, source })] })
  await until(() => saved.length === 2)
  look({ models: [aModel({ name: 'm2', source: sources[2]! })] })
  await until(() => saved.length === 3)
  const found = Object.fromEntries(
    saved.map(({ modelName, header, problem }) => [modelName, header?.layers ?? problem]),
  )
  expect(found).toEqual({ m0: 32, m1: 32, m2: expect.stringContaining('There is no "out/model.gguf"') })
})

test('a file on nodes is asked of those that could run the model, until one has it', async () => {
  const header = toHeaderMessage(aHeader())
  const ask = async (nodeId: string) => {
    if (nodeId === 'without') throw new AppError('not_found', 'There is no file or folder /m.gguf here.')
    return { payload_bytes: 0, header }
  }
  const { look, saved, asked } = aScene({ ask })
  const nodes = [
    aNode({ id: 'offline', liveness: 'offline' }),
    aNode({ id: 'agent', nodeType: 'agent' }),
    aNode({ id: 'new', approved: false }),
    aNode({ id: 'unable', engines: { sim: aNodeEngine({ whyNot: 'no program' }) } }),
    aNode({ id: 'without' }),
    aNode({ id: 'with' }),
  ]
  look({ models: [aModel({ source: 'file:/m.gguf' })], nodes })
  await until(() => saved.length === 1)
  expect(asked).toEqual(['without', 'with'])
  expect(saved[0]).toMatchObject({ header: aHeader(), payloadBytes: 0 })
})

test('a projector elsewhere is counted with a file on a node', async () => {
  const ask = async () => ({ payload_bytes: 0, header: toHeaderMessage(aHeader()) })
  const { look, saved } = aScene({ ask, endpoint: await serve(hub) })
  const options = { mmproj: 'hf:org/name/mmproj.gguf' }
  look({ models: [aModel({ source: 'file:/m.gguf', options })], nodes: [aNode()] })
  await until(() => saved.length === 1)
  expect(saved[0]).toMatchObject({ payloadBytes: fileBytes.length, header: { projectorBytes: fileBytes.length } })
})

test('nothing is done for models without files, for what is known, and for files on nodes that are away', async () => {
  const { look, saved, asked } = aScene()
  const known = { payloadBytes: 1, header: null, problem: null, retryAtMs: null }
  const failed = { ...known, problem: 'no', retryAtMs: 1001 }
  const models = [
    aModel({ name: 'none' }),
    aModel({ name: 'known', source: 'hf:a/b' }),
    aModel({ name: 'failed', source: 'hf:a/b' }),
    aModel({ name: 'away', source: 'file:/m.gguf' }),
  ]
  const facts = [
    { modelName: 'known', revision: 'r1', ...known },
    { modelName: 'failed', revision: 'r1', ...failed },
  ]
  look({ models, facts, nodes: [aNode({ liveness: 'unreachable' })] })
  await new Promise((resolve) => setImmediate(resolve))
  expect([saved, asked]).toEqual([[], []])
})

test('another revision is read, and a failure again when it is time', async () => {
  const { look, saved, modelsFolder } = aScene()
  writeGguf(join(modelsFolder, 'a.gguf'), content)
  const source = 'frontend:a.gguf'
  const old = { payloadBytes: 1, header: null, problem: null, retryAtMs: null }
  look({
    models: [aModel({ name: 'edited', revision: 'r2', source }), aModel({ name: 'due', source })],
    facts: [
      { modelName: 'edited', revision: 'r1', ...old },
      { modelName: 'due', revision: 'r1', ...old, problem: 'no', retryAtMs: 1000 },
    ],
  })
  await until(() => saved.length === 2)
  expect(new Set(saved.map(({ modelName, revision }) => `${modelName} ${revision}`))).toEqual(
    new Set(['due r1', 'edited r2']),
  )
})

test('failures are told without secrets and tried again ever later, up to an hour', async () => {
  const { look, saved } = aScene({ clock: new VirtualClock() })
  const models = [aModel({ source: 'frontend:none.gguf' })]
  for (let round = 1; round <= 8; round += 1) {
    look({ models, facts: saved.slice(-1).map((facts) => ({ ...facts, retryAtMs: 0 })) })
    await until(() => saved.length === round)
    // The round is over when the next one may begin.
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect(saved.map(({ retryAtMs }) => (retryAtMs! - 1000) / 60_000)).toEqual([1, 2, 4, 8, 16, 32, 60, 60])
  expect(saved[0]).toMatchObject({ header: null, problem: expect.stringContaining('There is no "none.gguf"') })
})

test('a source that needs another token is a problem that does not repeat ours', async () => {
  const refuse: Handler = async (_request, response) => {
    response.writeHead(403)
    response.end()
  }
  const { look, saved } = aScene({ endpoint: await serve(refuse) })
  look({ models: [aModel({ source: 'hf:org/name/model.gguf' })] })
  await until(() => saved.length === 1)
  expect(saved[0]!.problem).toContain('access was refused (403)')
  expect(saved[0]!.problem).not.toContain('hf_secret')
})

test('a server that never answers is given up after a while', async () => {
  const clock = new VirtualClock()
  let asked = false
  const hang: Handler = () => {
    asked = true
    return new Promise(() => {})
  }
  const { look, saved } = aScene({ endpoint: await serve(hang), clock })
  look({ models: [aModel({ source: 'hf:org/name/model.gguf' })] })
  await until(() => asked)
  await until(async () => {
    await clock.advance(5000)
    return saved.length === 1
  })
  expect(saved[0]!.problem).toMatch(/nothing came for 10 s|within 30 s/)
})

test('two are read at a time, and each only once however often one looks', async () => {
  const waiting: string[] = []
  const ask = (_nodeId: string, message: unknown): Promise<unknown> => {
    waiting.push((message as { source: string }).source)
    return new Promise(() => {})
  }
  const { look, asked } = aScene({ ask })
  const models = ['a', 'b', 'c'].map((name) => aModel({ name, source: `file:/${name}.gguf` }))
  for (let i = 0; i < 5; i += 1) look({ models, nodes: [aNode()] })
  await until(() => asked.length === 2)
  await new Promise((resolve) => setImmediate(resolve))
  expect(waiting).toEqual(['file:/a.gguf', 'file:/b.gguf'])
})

test('what could not be saved is read again, and nothing is saved after the end', async () => {
  let isBroken = true
  const saved: StoredFacts[] = []
  let tries = 0
  const scene = aScene({
    async save(facts) {
      tries += 1
      if (isBroken) throw new Error('the store is away')
      saved.push(facts)
    },
  })
  writeFileSync(join(scene.modelsFolder, 'a.bin'), 'x')
  const models = [aModel({ source: 'frontend:a.bin' })]
  scene.look({ models })
  await until(() => tries === 1)
  isBroken = false
  await until(() => {
    scene.look({ models })
    return saved.length > 0
  })
  expect(saved[0]).toMatchObject({ payloadBytes: 1, header: null, problem: null })
  await scene.reader.dispose()
  const before = tries
  scene.look({ models: [aModel({ name: 'late', source: 'frontend:a.bin' })] })
  await new Promise((resolve) => setImmediate(resolve))
  expect(tries).toBe(before)
})

test('a node that never answers is given up as well', async () => {
  const clock = new VirtualClock()
  const { look, saved, asked } = aScene({ clock, ask: () => new Promise(() => {}) })
  look({ models: [aModel({ source: 'file:/m.gguf' })], nodes: [aNode()] })
  await until(() => asked.length === 1)
  await clock.advance(30_000)
  await until(() => saved.length === 1)
  expect(saved[0]).toMatchObject({ problem: expect.stringContaining('within 30 s'), retryAtMs: 1000 + 30_000 + 60_000 })
})

test('ending does not wait for a server that hangs', async () => {
  let asked = false
  const hang: Handler = () => {
    asked = true
    return new Promise(() => {})
  }
  const { reader, look, saved } = aScene({ endpoint: await serve(hang) })
  look({ models: [aModel({ source: 'hf:org/name/model.gguf' })] })
  await until(() => asked)
  await reader.dispose()
  expect(saved).toEqual([])
})
