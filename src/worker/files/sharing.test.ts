import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { VirtualClock } from '../../../test/support/virtual-clock.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { until } from '../../../test/support/until.ts'
import { bytes, FileServer, serveFile, sha256Of, stallAfter, type Behaviour } from './file-server-suite.ts'
import { collectProgress, drive, listing, openModelFiles, stage } from './scene-suite.ts'

const KIB = 1024

/** Answers when the returned function is called. */
function held(): { behaviour: Behaviour; open: () => void } {
  let open = (): void => {}
  const opened = new Promise<void>((resolve) => (open = resolve))
  return { behaviour: (request, response, file) => void opened.then(() => serveFile(request, response, file)), open }
}

test('twenty that want the same source share one transfer', async () => {
  const server = await FileServer.start()
  const body = bytes(500 * KIB)
  const source = server.put('/f.gguf', body)
  const files = await openModelFiles()
  const staged = await Promise.all(Array.from({ length: 20 }, (_, i) => stage(files, { source, modelName: `m${i}` })))
  expect(new Set(staged.map(({ modelPath }) => modelPath)).size).toBe(1)
  expect(readFileSync(staged[0]!.modelPath!).equals(body)).toBe(true)
  expect(server.requests).toHaveLength(1)
})

test('different sources of the same file, known by its digest, share one transfer', async () => {
  const server = await FileServer.start()
  const mirror = await FileServer.start()
  const body = bytes(100 * KIB)
  const digest = `#sha256=${sha256Of(body)}`
  const sources = [server.put('/a.gguf', body) + digest, mirror.put('/b.gguf', body) + digest]
  const files = await openModelFiles()
  const [a, b] = await Promise.all(sources.map((source, i) => stage(files, { source, modelName: `m${i}` })))
  expect(readFileSync(a!.modelPath!).equals(readFileSync(b!.modelPath!))).toBe(true)
  expect(a!.modelPath).toMatch(/a\.gguf$/)
  expect(b!.modelPath).toMatch(/b\.gguf$/)
  expect(server.requests.length + mirror.requests.length).toBe(1)
})

test('one that gives up does not disturb those who wait', async () => {
  const server = await FileServer.start()
  const source = server.put('/f.gguf', bytes(100 * KIB))
  const { behaviour, open } = held()
  server.behaviours.push(behaviour)
  const files = await openModelFiles()
  const impatient = new AbortController()
  const left = stage(files, { source }, { signal: impatient.signal })
  const stayed = stage(files, { source })
  await until(() => server.requests.length === 1)
  impatient.abort(new Error('enough'))
  await expect(left).rejects.toThrow('enough')
  open()
  expect((await stayed).bytes).toBe(100 * KIB)
  expect(server.requests).toHaveLength(1)
})

test('when nobody waits any more the transfer ends, and is taken up by whoever comes next', async () => {
  const server = await FileServer.start()
  const source = server.put('/f.gguf', bytes(100 * KIB))
  server.behaviours.push(stallAfter(40 * KIB))
  const files = await openModelFiles()
  const gone = [new AbortController(), new AbortController()]
  const { told, onProgress } = collectProgress()
  const waiting = gone.map(({ signal }) => stage(files, { source }, { signal, onProgress }))
  await until(() => told.some(({ done_bytes: done }) => done === 40 * KIB))
  gone[0]!.abort(new Error('first'))
  await expect(waiting[0]).rejects.toThrow('first')
  gone[1]!.abort(new Error('second'))
  // Asked for in the very moment that the old transfer is being cancelled.
  const next = stage(files, { source })
  await expect(waiting[1]).rejects.toThrow('second')
  expect((await next).bytes).toBe(100 * KIB)
  expect(server.ranges('/f.gguf')).toEqual([undefined, `bytes=${40 * KIB}-`])
})

test('a model whose staging was given up can be deleted at once, and nothing of it is left', async () => {
  const folder = tempFolder()
  const server = await FileServer.start()
  const source = server.put('/f.gguf', bytes(100 * KIB))
  server.behaviours.push(stallAfter(40 * KIB))
  const files = await openModelFiles({ folder })
  const stop = new AbortController()
  const { told, onProgress } = collectProgress()
  const staging = stage(files, { source }, { signal: stop.signal, onProgress })
  await until(() => told.some(({ done_bytes: done }) => done === 40 * KIB))
  await expect(files.delete('m')).rejects.toMatchObject({ code: 'conflict' })
  stop.abort(new Error('stopped'))
  await expect(staging).rejects.toThrow('stopped')
  expect(await files.delete('m')).toEqual({ files: 1, freedBytes: 40 * KIB })
  expect(listing(folder, 'partial')).toEqual([])
  expect(listing(folder, 'manifests')).toEqual([])
})

test('the end of the node ends all transfers and keeps what has arrived', async () => {
  const folder = tempFolder()
  const server = await FileServer.start()
  const source = server.put('/f.gguf', bytes(100 * KIB))
  server.behaviours.push(stallAfter(40 * KIB))
  const files = await openModelFiles({ folder })
  const { told, onProgress } = collectProgress()
  const staging = stage(files, { source }, { onProgress })
  const outcome = staging.catch((error: unknown) => error)
  await until(() => told.some(({ done_bytes: done }) => done === 40 * KIB))
  await files.dispose()
  expect(await outcome).toMatchObject({ code: 'unavailable', message: 'This node is stopping.' })
  await expect(stage(files, { source })).rejects.toMatchObject({ code: 'unavailable' })
  await stage(await openModelFiles({ folder }), { source })
  expect(server.ranges('/f.gguf').at(-1)).toBe(`bytes=${40 * KIB}-`)
})

test('at most four files are on the way at the same time', async () => {
  const server = await FileServer.start()
  const names = Array.from({ length: 9 }, (_, i) => `x-${String(i + 1).padStart(5, '0')}-of-00009.gguf`)
  for (const name of names) server.put(`/${name}`, bytes(10, name))
  const gates = names.map(held)
  server.behaviours.push(...gates.map(({ behaviour }) => behaviour))
  const staging = stage(await openModelFiles(), { source: `${server.url}/${names[3]}` })
  await until(() => server.requests.length === 4)
  gates[0]!.open()
  await until(() => server.requests.length === 5)
  for (const { open } of gates) open()
  const staged = await staging
  expect(staged.bytes).toBe(90)
  expect(staged.modelPath).toMatch(/x-00001-of-00009\.gguf$/)
  expect(server.requests).toHaveLength(9)
})

test('all transfers together keep to the limit, by the clock', async () => {
  const clock = new VirtualClock()
  const server = await FileServer.start()
  const files = await openModelFiles({ clock, bytesPerSecond: 100_000, limits: { stallMs: 10_000_000 } })
  const sources = ['a', 'b', 'c'].map((name) => server.put(`/${name}.gguf`, bytes(300_000, name)))
  const { told, onProgress } = collectProgress()
  const staging = Promise.all(sources.map((source) => stage(files, { source }, { onProgress })))
  expect((await drive(clock, staging)).map(({ bytes }) => bytes)).toEqual([300_000, 300_000, 300_000])
  // What may come in one go, and what is on the way when the time is up, is far less than a second's worth.
  expect(clock.nowMs()).toBeGreaterThan(8000)
  expect(told.length).toBeLessThanOrEqual((clock.nowMs() / 250 + 1) * 3)
})

test('progress adds up all files and says how fast they come', async () => {
  const server = await FileServer.start()
  const clock = new VirtualClock()
  const files = await openModelFiles({ clock, bytesPerSecond: 100_000, limits: { stallMs: 10_000_000 } })
  const source = server.put('/big.gguf', bytes(400_000))
  const mmproj = server.put('/mmproj.gguf', bytes(200_000, 'b'))
  const { told, onProgress } = collectProgress()
  await drive(clock, stage(files, { source, options: { mmproj } }, { onProgress }))
  const done = told.map(({ done_bytes: bytes }) => bytes)
  expect(done).toEqual(done.toSorted((a, b) => a - b))
  expect(told.some(({ total_bytes: total }) => total === 600_000)).toBe(true)
  expect(told.some(({ file }) => file === 'big.gguf')).toBe(true)
  expect(told.some(({ bytes_per_s: rate }) => rate !== null && rate > 20_000 && rate < 300_000)).toBe(true)
})
