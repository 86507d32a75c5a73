import { appendFileSync, mkdirSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { writeGguf } from '../../../model-files/header/testing/write-gguf.ts'
import type { Clock } from '../../../platform/run/clock.ts'
import { openDatabase } from '../../../store/database.ts'
import { listEvents } from '../../../store/nouns/events.ts'
import { listModels } from '../../../store/nouns/models.ts'
import { ControlScene } from '../../../../test/support/control/control-scene.ts'
import { tempFolder } from '../../../../test/support/temp-folder.ts'
import { until } from '../../../../test/support/until.ts'
import { startServedFolder } from './served-folder.ts'

const metadata = {
  'general.architecture': 'llama',
  'llama.block_count': 1,
  'llama.context_length': 32_768,
  'llama.embedding_length': 64,
  'llama.attention.head_count': 8,
}
const tensors = [{ name: 'blk.0.attn_q.weight', bytes: 4096 }]

/** A clock on which every wait is short. */
const quick: Clock = {
  nowMs: () => Date.now(),
  after(delayMs, callback) {
    const timer = setTimeout(callback, Math.min(delayMs, 5))
    return () => clearTimeout(timer)
  },
}

async function aServer() {
  const db = await openDatabase({ file: join(tempFolder(), 'flotilla.db') })
  onTestFinished(() => db.close())
  const scene = await ControlScene.start(db)
  const folder = tempFolder()
  const warnings: unknown[] = []
  const log = { ...scene.deps.log, warn: (fields: unknown) => void warnings.push(fields) } as typeof scene.deps.log
  let turns = 0
  const serveFolder = (served: string | undefined, isLeading = true) => {
    const asked = () => {
      turns += 1
      return isLeading
    }
    const running = startServedFolder({ ...scene.deps, log, folder: served, isLeading: asked, clock: quick })
    onTestFinished(() => running.dispose())
    return running
  }
  return {
    scene,
    db,
    folder,
    warnings,
    serveFolder,
    put: (path: string, more: object = {}) =>
      writeGguf(join(folder, path), { metadata: { ...metadata, ...more }, tensors }),
    models: async () =>
      Object.fromEntries((await listModels(db)).map(({ name, source, origin }) => [name, `${origin} ${source}`])),
    told: async () =>
      (await listEvents(db, 1, 1000)).map(({ actor, action, model_name: name }) => `${actor} ${action} ${name}`),
    /** One that is under way, and whole ones after it. */
    someLooks: async () => {
      const wanted = turns + 3
      await until(() => turns >= wanted)
    },
  }
}

test('each file becomes a model that says where it comes from, with a context that fits', async () => {
  const { db, folder, put, serveFolder, models, scene } = await aServer()
  mkdirSync(join(folder, 'deep'))
  put('qwen.gguf')
  put('deep/small.gguf', { 'llama.context_length': 512 })
  put('mmproj-qwen.gguf')
  serveFolder(folder)
  await until(async () => Object.keys(await models()).length === 2)
  expect(await listModels(db)).toMatchObject([
    { name: 'qwen', engine: 'llama', source: 'frontend:qwen.gguf', options: { context: 8192 }, origin: 'folder' },
    { name: 'small', source: 'frontend:deep/small.gguf', options: { context: 512 } },
  ])
  expect((await scene.admin('GET', '/api/models/qwen')).body).toMatchObject({ origin: 'folder' })
  expect((await scene.admin('GET', '/api/export')).body).toMatchObject({ models: [] })
})

test('models come and go with their files, and each is told once', async () => {
  const { folder, put, serveFolder, models, told, someLooks } = await aServer()
  put('a.gguf')
  serveFolder(folder)
  await until(async () => 'a' in (await models()))
  put('b.gguf')
  await until(async () => 'b' in (await models()))
  renameSync(join(folder, 'a.gguf'), join(folder, 'c.gguf'))
  await until(async () => Object.keys(await models()).join() === 'b,c')
  await someLooks()
  expect(await told()).toEqual([
    'folder model.saved a',
    'folder model.saved b',
    'folder model.deleted a',
    'folder model.saved c',
  ])
})

test('a model that an admin has defined, or has taken over, is never touched', async () => {
  const { folder, put, serveFolder, models, scene, someLooks, warnings } = await aServer()
  await scene.admin('POST', '/api/models', { name: 'mine', engine: 'sim' })
  put('mine.gguf')
  put('other.gguf')
  serveFolder(folder)
  await until(async () => 'other' in (await models()))
  await scene.admin('PUT', '/api/models/other', { engine: 'sim' })
  await someLooks()
  rmSync(join(folder, 'mine.gguf'))
  rmSync(join(folder, 'other.gguf'))
  await someLooks()
  expect(await models()).toEqual({ mine: 'api null', other: 'api null' })
  expect(warnings).toEqual([{ name: 'mine' }, { name: 'other' }])
})

test('a model of the folder is not removed while its file is there', async () => {
  const { folder, put, serveFolder, models, scene } = await aServer()
  put('a.gguf')
  serveFolder(folder)
  await until(async () => 'a' in (await models()))
  const answer = await scene.admin<{ error: { message: string } }>('DELETE', '/api/models/a')
  expect([answer.status, answer.body.error.message]).toEqual([
    409,
    '"a" comes from the folder that a frontend serves (--models-dir): it goes when its file is taken away there.',
  ])
})

test('a file that is still being copied is waited for, and one that is no model is left out and told once', async () => {
  const { folder, put, serveFolder, models, someLooks, warnings } = await aServer()
  const growing = join(folder, 'growing.gguf')
  writeFileSync(growing, '')
  const copying = setInterval(() => appendFileSync(growing, 'x'), 1)
  onTestFinished(() => clearInterval(copying))
  writeFileSync(join(folder, 'garbage.gguf'), 'no model at all, for all its length')
  put('a.gguf')
  serveFolder(folder)
  await until(async () => 'a' in (await models()))
  clearInterval(copying)
  put('growing.gguf')
  await until(async () => 'growing' in (await models()))
  await someLooks()
  expect(Object.keys(await models())).toEqual(['a', 'growing'])
  expect(warnings.filter((one) => (one as { model?: string }).model === 'garbage')).toHaveLength(1)
})

test('what becomes unreadable stays a model, and so does everything when the folder is away', async () => {
  const { folder, put, serveFolder, models, someLooks } = await aServer()
  put('a.gguf')
  serveFolder(folder)
  await until(async () => 'a' in (await models()))
  writeFileSync(join(folder, 'a.gguf'), 'overwritten with nonsense')
  await someLooks()
  expect(await models()).toEqual({ a: 'folder frontend:a.gguf' })
  renameSync(folder, `${folder}-away`)
  onTestFinished(() => rmSync(`${folder}-away`, { recursive: true, force: true }))
  await someLooks()
  expect(await models()).toEqual({ a: 'folder frontend:a.gguf' })
  renameSync(`${folder}-away`, folder)
  rmSync(join(folder, 'a.gguf'))
  await until(async () => Object.keys(await models()).length === 0)
})

test('old files are served at the first look, and a start without a folder takes all of them away', async () => {
  const { folder, put, serveFolder, models, scene } = await aServer()
  await scene.admin('POST', '/api/models', { name: 'mine', engine: 'sim' })
  put('a.gguf')
  utimesSync(join(folder, 'a.gguf'), 1000, 1000)
  const first = serveFolder(folder)
  await until(async () => 'a' in (await models()))
  await first.dispose()
  serveFolder(undefined)
  await until(async () => !('a' in (await models())))
  expect(await models()).toEqual({ mine: 'api null' })
})

test('one that does not lead changes nothing', async () => {
  const { folder, put, serveFolder, models, someLooks } = await aServer()
  put('a.gguf')
  serveFolder(folder, false)
  await someLooks()
  expect(await models()).toEqual({})
})
