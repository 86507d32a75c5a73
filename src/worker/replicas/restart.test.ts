import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { replicaPath } from '../../api/data-port.ts'
import { serve } from '../../../test/support/http/http.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { isAlive, until } from '../../../test/support/until.ts'
import { aWorkerProcess } from '../../../test/support/worker/worker-process.ts'
import { aStart, aWorker, enginesBelow } from '../../../test/support/worker/worker-scene.ts'
import { dataPortHandler } from '../data-port/handler.ts'

const journalOf = (folder: string): string => join(folder, 'worker', 'replicas')
const entries = (folder: string): string[] => readdirSync(journalOf(folder)).filter((name) => name !== 'owner')
const wasReady = (folder: string, id: string): boolean => {
  try {
    return (JSON.parse(readFileSync(join(journalOf(folder), id, 'replica.json'), 'utf8')) as { was_ready: boolean })
      .was_ready
  } catch {
    return false
  }
}

describe('a worker that was killed and comes back', () => {
  test('takes over an engine that serves: the same process, the same port, and requests go on', async () => {
    const folder = tempFolder()
    const spec = aStart({ model_name: 'org/m #1', engine: 'sim', options: { ttft_ms: 0, tokens_per_s: 0 } })
    const before = await aWorkerProcess(folder, [spec])
    await until(() => wasReady(folder, spec.id))
    const { port } = JSON.parse(readFileSync(join(journalOf(folder), spec.id, 'replica.json'), 'utf8')) as {
      port: number
    }
    const pid = Number(readFileSync(join(journalOf(folder), spec.id, 'identity'), 'utf8').split('\n')[0])
    await before.kill()
    expect(isAlive(pid)).toBe(true)

    const worker = await aWorker({ folder })
    expect(worker.supervisor.report()).toMatchObject([{ id: spec.id, generation: spec.generation, state: 'ready' }])
    expect(worker.supervisor.find(spec.id)).toMatchObject({ port, pid })
    const url = await serve(dataPortHandler({ replicas: worker.supervisor, dataKey: () => 'key', checks: {} }))
    const answer = await fetch(`${url}${replicaPath(spec.id, spec.generation)}/v1/models`, {
      headers: { authorization: 'Bearer key' },
    })
    expect(answer.status).toBe(200)
    const target = { what: 'replica', id: spec.id, generation: spec.generation } as const
    const { replicas } = await worker.supervisor.stop({ target, force: false, wait_ms: 20_000 })
    expect(replicas).toMatchObject([{ gone: true }])
    expect(isAlive(pid)).toBe(false)
    expect(entries(folder)).toEqual([])
  })

  test('goes on waiting for an engine that was still starting', async () => {
    const folder = tempFolder()
    const flag = join(folder, 'flag')
    const spec = aStart({ engine: 'slow', options: { flag } })
    const before = await aWorkerProcess(folder, [spec])
    await until(() => enginesBelow(folder).length > 0)
    await before.kill()
    const worker = await aWorker({ folder })
    expect(worker.states()).toEqual({ 'm#0': 'loading' })
    writeFileSync(flag, '')
    await until(() => worker.stateOf(spec.id) === 'ready')
    expect(enginesBelow(folder)).toHaveLength(1)
  })

  test(
    'killed at any moment of a start, it leaves nothing that the next one does not know',
    { timeout: 300_000 },
    async () => {
      for (let waitMs = 0; waitMs < 60; waitMs += 12) {
        const folder = tempFolder()
        const specs = [0, 1, 2].map((index) => aStart({ replica_index: index }))
        const before = await aWorkerProcess(folder, specs)
        await new Promise((resolve) => setTimeout(resolve, waitMs))
        await before.kill()
        const worker = await aWorker({ folder })
        const states = () => Object.values(worker.states())
        // One that had not been told to go on ends by itself, perhaps only after it was taken over: that start has failed.
        // So has one whose word that it is ready died with the worker: nobody will hear it again.
        await until(() => states().every((state) => state === 'ready' || state === 'failed'), 60_000)
        await until(() => enginesBelow(folder).length === states().filter((state) => state === 'ready').length)
        await worker.end()
        expect(enginesBelow(folder)).toEqual([])
      }
    },
  )

  test('has the lines that were printed while nobody was there', async () => {
    const folder = tempFolder()
    const spec = aStart({ engine: 'chatty' })
    const before = await aWorkerProcess(folder, [spec])
    await until(() => wasReady(folder, spec.id))
    await before.kill()
    const [engine] = enginesBelow(folder)
    const written = () => Number(/^wchar: (\d+)$/m.exec(readFileSync(`/proc/${engine}/io`, 'utf8'))![1])
    const atDeath = written()
    await until(() => written() > atDeath + 200)
    const worker = await aWorker({ folder })
    const texts = async () => (await worker.logs.read('m', {})).map(({ text }) => text)
    const count = (await texts()).length
    await until(async () => (await texts()).length > count + 20)
    const numbers = (await texts()).filter((text) => text.startsWith('line')).map((text) => Number(text.slice(5)))
    // What the killed worker had read and not yet written is lost, 20 ms at most; nothing is told twice or out of order.
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b))
    expect(new Set(numbers).size).toBe(numbers.length)
    const gaps = numbers.slice(1).map((number, i) => number - numbers[i]! - 1)
    expect(gaps.filter((gap) => gap > 0).length).toBeLessThanOrEqual(1)
  })

  test('with a clean slate it stops what is left instead', async () => {
    const folder = tempFolder()
    const before = await aWorkerProcess(folder, [aStart(), aStart({ replica_index: 1, engine: 'stubborn' })])
    await until(() => enginesBelow(folder).length === 2)
    await before.kill()
    const worker = await aWorker({ folder, isClean: true })
    expect(worker.supervisor.report()).toEqual([])
    expect(enginesBelow(folder)).toEqual([])
    expect(entries(folder)).toEqual([])
  })

  test('never touches a process that has the number of one of its engines by chance', async () => {
    const folder = tempFolder()
    const spec = aStart()
    const before = await aWorkerProcess(folder, [spec])
    await until(() => wasReady(folder, spec.id))
    await before.kill()
    const [engine] = enginesBelow(folder)
    process.kill(engine!, 'SIGKILL')
    await until(() => enginesBelow(folder).length === 0)
    const stranger = spawn('sleep', ['1000'], { detached: true })
    onTestFinished(() => void stranger.kill('SIGKILL'))
    const file = join(journalOf(folder), spec.id, 'identity')
    const [, ...rest] = readFileSync(file, 'utf8').split('\n')
    writeFileSync(file, [stranger.pid, ...rest].join('\n'))
    const worker = await aWorker({ folder })
    expect(worker.supervisor.report()).toEqual([])
    await worker.end()
    expect(isAlive(stranger.pid!)).toBe(true)
  })

  test('damaged notes are no reason not to start: what cannot be understood is stopped', async () => {
    const folder = tempFolder()
    const spec = aStart()
    const before = await aWorkerProcess(folder, [spec])
    await until(() => wasReady(folder, spec.id))
    await before.kill()
    writeFileSync(join(journalOf(folder), spec.id, 'replica.json'), '{"spec":')
    const worker = await aWorker({ folder })
    expect(worker.supervisor.report()).toEqual([])
    expect(enginesBelow(folder)).toEqual([])
  })
})

test('engines of a worker that stays away are ended', async () => {
  const folder = tempFolder()
  const before = await aWorkerProcess(folder, [aStart(), aStart({ replica_index: 1 })], { orphanGraceMs: 1000 })
  await until(() => enginesBelow(folder).length === 2)
  await before.kill()
  await until(() => enginesBelow(folder).length === 0)
  expect(enginesBelow(folder)).toEqual([])
})
