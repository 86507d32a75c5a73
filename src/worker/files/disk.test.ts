import { readdirSync, readFileSync, rmSync, unlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { VirtualClock } from '../../../test/support/virtual-clock.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { until } from '../../../test/support/until.ts'
import { answer, bytes, cutAfter, FileServer, sha256Of, stallAfter } from './file-server-suite.ts'
import { collectProgress, drive, GIB, listing, openModelFiles, stage } from './scene-suite.ts'

const KIB = 1024
const DAY_MS = 24 * 3_600_000

test('a transfer that does not fit on the disk is not begun, and the message has the numbers', async () => {
  const server = await FileServer.start()
  const source = server.put('/f.gguf', bytes(100 * KIB))
  const folder = tempFolder()
  const files = await openModelFiles({ folder, freeBytes: async () => ({ free: GIB, total: 2 * GIB }) })
  await expect(stage(files, { source })).rejects.toThrow(
    new RegExp(
      `^Not enough disk space for 127.*f\\.gguf: 1\\.0 GiB must be free in ${folder} .* and 1\\.0 GiB are\\. Delete`,
    ),
  )
  expect(listing(folder, 'blobs')).toEqual([])
})

test('two transfers that fit one by one but not together are not both begun', async () => {
  const server = await FileServer.start()
  const sources = ['a', 'b'].map((name) => server.put(`/${name}.gguf`, bytes(100 * KIB, name)))
  server.behaviours.push(stallAfter(10 * KIB))
  const files = await openModelFiles({ freeBytes: async () => ({ free: GIB + 150 * KIB, total: 2 * GIB }) })
  const stop = new AbortController()
  const { told, onProgress } = collectProgress()
  const first = stage(files, { source: sources[0]! }, { signal: stop.signal, onProgress })
  await until(() => told.some(({ done_bytes: done }) => done === 10 * KIB))
  await expect(stage(files, { source: sources[1]! })).rejects.toThrow('Not enough disk space')
  stop.abort(new Error('enough'))
  await expect(first).rejects.toThrow('enough')
  expect((await stage(files, { source: sources[1]! })).bytes).toBe(100 * KIB)
})

test('a disk that fills up in the middle stops the transfer, which goes on when there is room', async () => {
  const server = await FileServer.start()
  const body = bytes(600 * KIB)
  const source = server.put('/f.gguf', body)
  const folder = tempFolder()
  let looks = 0
  let isFull = true
  const freeBytes = async () => ({ free: (looks += 1) > 1 && isFull ? 100 * KIB : 10 * GIB, total: 20 * GIB })
  const files = await openModelFiles({ folder, freeBytes, limits: { checkEveryBytes: 200 * KIB } })
  await expect(stage(files, { source })).rejects.toThrow('Not enough disk space')
  expect(listing(folder, 'partial')).toHaveLength(2)
  isFull = false
  const staged = await stage(files, { source })
  expect(readFileSync(staged.modelPath!).equals(body)).toBe(true)
  expect(server.ranges('/f.gguf')[1]).toMatch(/^bytes=2\d{5}-$/)
})

test('a write that fails for want of space says so, and what was written is kept and good', async () => {
  const server = await FileServer.start()
  const body = bytes(300 * KIB)
  const source = server.put('/f.gguf', body)
  const folder = tempFolder()
  const files = await openModelFiles({ folder })
  await failWritesAfter(3)
  await expect(stage(files, { source })).rejects.toThrow(/^Not enough disk space for .*f\.gguf/)
  vi.restoreAllMocks()
  const staged = await stage(files, { source })
  expect(readFileSync(staged.modelPath!).equals(body)).toBe(true)
  expect(server.ranges('/f.gguf')[1]).toMatch(/^bytes=\d+-$/)
})

/** The disk of all files opened from now on takes some writes, then half of one, then none. */
async function failWritesAfter(count: number): Promise<void> {
  const probe = await open(import.meta.filename, 'r')
  const prototype = Object.getPrototypeOf(probe) as { write: (...args: unknown[]) => Promise<{ bytesWritten: number }> }
  await probe.close()
  const write = prototype.write
  let writes = 0
  vi.spyOn(prototype, 'write').mockImplementation(function (this: unknown, ...args: unknown[]) {
    writes += 1
    if (writes > count) return Promise.reject(Object.assign(new Error('no space left on device'), { code: 'ENOSPC' }))
    const [buffer, at, length, position] = args as [Buffer, number, number, number]
    return write.call(this, buffer, at, writes === count ? Math.ceil(length / 2) : length, position)
  })
  onTestFinished(() => void vi.restoreAllMocks())
}

/** A clock that only tells different times, and a store with a quota of 1000 bytes and three models of 300 in it. */
async function fullStore() {
  const clock = new VirtualClock(Date.now())
  const server = await FileServer.start()
  const folder = tempFolder()
  const files = await openModelFiles({ folder, clock, quotaBytes: 1000 })
  const source = (name: string, size = 300): string => server.put(`/${name}.gguf`, bytes(size, name))
  const add = async (name: string, size?: number) => {
    await clock.advance(1000)
    return drive(clock, stage(files, { source: source(name, size), modelName: name }))
  }
  const has = (name: string): boolean => listing(folder, 'blobs').includes(`sha256-${sha256Of(bytes(300, name))}`)
  const present = (): string[] => ['a', 'b', 'c', 'd'].filter(has)
  const staged = { a: await add('a'), b: await add('b'), c: await add('c') }
  return { clock, server, folder, files, source, add, present, staged }
}

test('above the quota what was used longest ago goes first, and what is in use never', async () => {
  const { clock, add, present, staged, folder } = await fullStore()
  await expect(add('d')).rejects.toThrow('Not enough room for')
  expect(present()).toEqual(['a', 'b', 'c'])
  staged.b.release()
  await clock.advance(1000)
  staged.a.release()
  await add('d')
  expect(present()).toEqual(['a', 'c', 'd'])
  expect(listing(folder, 'trees')).toHaveLength(3)
})

test('a model used again is young again', async () => {
  const { clock, add, present, staged, files, source } = await fullStore()
  for (const { release } of Object.values(staged)) release()
  await clock.advance(1000)
  const again = await stage(files, { source: source('a'), modelName: 'a' })
  again.release()
  await add('d')
  expect(present()).toEqual(['a', 'c', 'd'])
})

test('a model larger than the quota is refused; all that nobody uses is gone by then', async () => {
  const { add, staged, present } = await fullStore()
  staged.a.release()
  await expect(add('huge', 1001)).rejects.toThrow(/Not enough room for .*the quota is/)
  expect(present()).toEqual(['b', 'c'])
})

test('what an interrupted transfer has left makes room for another', async () => {
  const { add, server, staged, folder, present } = await fullStore()
  server.behaviours.push(cutAfter(90), answer(404))
  await expect(add('x', 100)).rejects.toThrow('404')
  expect(listing(folder, 'partial')).toHaveLength(2)
  for (const { release } of [staged.b, staged.c]) release()
  await add('d', 310)
  expect(present()).toEqual(['a', 'c'])
  await add('e', 350)
  expect(listing(folder, 'partial')).toEqual([])
})

test('delete frees the files, unless another model needs them, and refuses while they are in use', async () => {
  const folder = tempFolder()
  const server = await FileServer.start()
  const [own, common] = [server.put('/own.gguf', bytes(500)), server.put('/common.gguf', bytes(70, 'c'))]
  const files = await openModelFiles({ folder })
  const a = await stage(files, { modelName: 'a', source: own, options: { lora: common } })
  const b = await stage(files, { modelName: 'b', source: common })
  await expect(files.delete('a')).rejects.toMatchObject({ code: 'conflict' })
  a.release()
  a.release()
  expect(await files.delete('a')).toEqual({ files: 1, freedBytes: 500 })
  expect(readFileSync(b.modelPath!).equals(bytes(70, 'c'))).toBe(true)
  expect(await files.delete('a')).toEqual({ files: 0, freedBytes: 0 })
  b.release()
  expect(await files.delete('b')).toEqual({ files: 1, freedBytes: 70 })
  for (const inside of ['blobs', 'manifests', 'partial', 'trees'] as const) expect(listing(folder, inside)).toEqual([])
})

test('two sources with the same content share a blob, which goes with the second', async () => {
  const folder = tempFolder()
  const server = await FileServer.start()
  const files = await openModelFiles({ folder })
  for (const name of ['a', 'b']) {
    const staged = await stage(files, { modelName: name, source: server.put(`/${name}.gguf`, bytes(50)) })
    staged.release()
  }
  expect(listing(folder, 'blobs')).toHaveLength(1)
  expect(await files.delete('a')).toEqual({ files: 0, freedBytes: 0 })
  expect(await files.delete('b')).toEqual({ files: 1, freedBytes: 50 })
})

test('the files of an earlier run can be deleted, too', async () => {
  const folder = tempFolder()
  const server = await FileServer.start()
  const source = server.put('/f.gguf', bytes(50))
  const first = await openModelFiles({ folder })
  await stage(first, { source })
  await first.dispose()
  expect(await (await openModelFiles({ folder })).delete('m')).toEqual({ files: 1, freedBytes: 50 })
})

test('what somebody has deleted by hand is put back: links without a transfer, files with one', async () => {
  const folder = tempFolder()
  const server = await FileServer.start()
  const source = server.put('/f.gguf', bytes(50))
  const files = await openModelFiles({ folder })
  const { modelPath } = await stage(files, { source })
  rmSync(dirname(modelPath!), { recursive: true })
  expect(readFileSync((await stage(files, { source })).modelPath!).equals(bytes(50))).toBe(true)
  expect(server.requests).toHaveLength(1)
  unlinkSync(join(folder, 'blobs', listing(folder, 'blobs')[0]!))
  expect(readFileSync((await stage(files, { source })).modelPath!).equals(bytes(50))).toBe(true)
  expect(server.requests).toHaveLength(2)
})

test('what nobody came back to for a week is swept; what is not ours is left alone', async () => {
  const folder = tempFolder()
  const server = await FileServer.start()
  const first = await openModelFiles({ folder })
  await stage(first, { source: server.put('/kept.gguf', bytes(5)) })
  const waiting = { signal: new AbortController().signal, onProgress: () => {} }
  const archive = await first.fetch(server.put('/engine.tgz', bytes(6)), waiting)
  archive.release()
  server.behaviours.push(cutAfter(30), answer(404))
  await expect(stage(first, { modelName: 'x', source: server.put('/x.gguf', bytes(40)) })).rejects.toThrow('404')
  await first.dispose()
  const strange = ['blobs/sha256-nothing', 'blobs/README', 'partial/x.part', 'manifests/notes.json', 'trees/mine']
  const stray = `blobs/sha256-${'0'.repeat(64)}`
  for (const name of [...strange, stray]) writeFileSync(join(folder, name), 'x')
  for (const inside of ['blobs', 'partial'] as const) {
    const old = new Date(Date.now() - 8 * DAY_MS)
    for (const name of readdirSync(join(folder, inside))) utimesSync(join(folder, inside, name), old, old)
  }
  writeFileSync(join(folder, 'manifests', `${'1'.repeat(32)}.json`), '{"half')
  await openModelFiles({ folder, clock: new VirtualClock(Date.now() + 8 * DAY_MS) })
  expect(listing(folder, 'partial')).toEqual(['x.part'])
  expect(listing(folder, 'blobs')).toEqual([`sha256-${sha256Of(bytes(5))}`, 'README', 'sha256-nothing'].toSorted())
  expect(listing(folder, 'manifests')).toHaveLength(3)
  expect(listing(folder, 'trees')).toHaveLength(2)
})
