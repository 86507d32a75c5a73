import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { ReportedReplicaMessage } from '../../api/bus/messages.ts'
import { reportedReplica } from '../../api/bus/messages.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { until } from '../../../test/support/until.ts'
import { aWorkerProcess } from '../../../test/support/worker/worker-process.ts'
import { aStart, aWorker, type WorkerScene } from '../../../test/support/worker/worker-scene.ts'

function reportOf(worker: WorkerScene, id: string): ReportedReplicaMessage {
  return reportedReplica.parse(worker.supervisor.report().find((replica) => replica.id === id))
}

async function started(spec: ReturnType<typeof aStart>, state: string): Promise<WorkerScene> {
  const worker = await aWorker()
  worker.supervisor.start(spec)
  await until(() => worker.stateOf(spec.id) === state)
  return worker
}

describe('a replica that failed for want of memory', () => {
  test('says so first, with the engine’s own words, and then how it ended', async () => {
    const spec = aStart({ engine: 'sim', options: { memory_bytes: 2 ** 31, out_of_memory_above: 2 ** 30 } })
    const report = reportOf(await started(spec, 'failed'), spec.id)
    expect(report).toMatchObject({ out_of_memory: true, exit: { code: 1 } })
    expect(report.error).toMatch(
      /^The engine ran out of memory: .* 2048\.00 MiB on device 0: cudaMalloc failed: out of memory\nThe engine exited/,
    )
  })

  test('is recognised though much else was printed after it, but not long after', async () => {
    const printing = (lines: number): string => `echo "CUDA out of memory"; seq ${lines}; exit 3`
    const soon = aStart({ engine: 'command', options: { command: printing(100) } })
    expect(reportOf(await started(soon, 'failed'), soon.id)).toMatchObject({ out_of_memory: true })
    const late = aStart({ engine: 'command', options: { command: printing(1000) } })
    const report = reportOf(await started(late, 'failed'), late.id)
    expect(report).toMatchObject({
      out_of_memory: false,
      error: expect.stringMatching(/^The engine exited with code 3/),
    })
  })

  test('is recognised when it does not end but never serves either', async () => {
    const profiles = `
- name: stuck
  command: [sh, -c, 'echo "llama_model_load: unable to allocate CUDA0 buffer"; exec sleep 1000']
  model: none
  ready: { port: true }
  ready_within_s: 0.3
`
    const worker = await aWorker({ profiles })
    const spec = aStart({ engine: 'stuck' })
    worker.supervisor.start(spec)
    await until(() => worker.stateOf(spec.id) === 'failed')
    const report = reportOf(worker, spec.id)
    expect(report.out_of_memory).toBe(true)
    expect(report.error).toMatch(/^The engine ran out of memory: [^\n]+\nThe engine did not become ready/)
  })

  test('any other failure is none of memory', async () => {
    const spec = aStart({ engine: 'command', options: { command: 'echo no such model; exit 1' } })
    expect(reportOf(await started(spec, 'failed'), spec.id)).toMatchObject({ out_of_memory: false })
  })
})

test('idle time counts from the end of the last request; there is none before the first', async () => {
  const spec = aStart()
  const worker = await started(spec, 'ready')
  const idle = (): number | null => reportOf(worker, spec.id).idle_ms
  const replica = worker.supervisor.find(spec.id)!
  expect(idle()).toBeNull()
  const ends = [replica.beginRequest(), replica.beginRequest()]
  ends[0]!()
  expect(idle()).toBe(0)
  ends[1]!()
  await until(() => idle()! > 20)
  const end = replica.beginRequest()
  expect(idle()).toBe(0)
  // A request that goes on would be waited for at the end of the test.
  end()
})

describe('devices that a replica is given', () => {
  const command = 'echo "<$CUDA_VISIBLE_DEVICES|$HIP_VISIBLE_DEVICES|$FLOTILLA_DEVICES>"; exec sleep 1000'
  const saidWith = async (devices: number[] | undefined, more = {}): Promise<string> => {
    const worker = await aWorker()
    const spec = aStart({ engine: 'command', options: { command, ...more }, ...(devices && { devices }) })
    worker.supervisor.start(spec)
    await until(() => worker.logs.lastLines('m#0', 1).length === 1)
    return worker.logs.lastLines('m#0', 1)[0]!
  }

  test('are what its engine sees', async () => {
    expect(await saidWith([1, 2])).toBe('<1,2|1,2|1,2>')
    expect(await saidWith([])).toBe('<-1|-1|>')
    expect(await saidWith([1, 2], { devices: '0' })).toBe('<0|0|0>')
    const inherited = `<${process.env['CUDA_VISIBLE_DEVICES'] ?? ''}|${process.env['HIP_VISIBLE_DEVICES'] ?? ''}|>`
    expect(await saidWith(undefined)).toBe(inherited)
  })

  test('are still known to the worker that takes it over', async () => {
    const folder = tempFolder()
    const spec = aStart({ engine: 'light', devices: [1] })
    const before = await aWorkerProcess(folder, [spec])
    const entry = join(folder, 'worker', 'replicas', spec.id, 'replica.json')
    await until(() => {
      try {
        return readFileSync(entry, 'utf8').includes('"was_ready":true')
      } catch {
        return false
      }
    })
    await before.kill()
    const worker = await aWorker({ folder })
    expect(worker.supervisor.find(spec.id)).toMatchObject({ spec: { devices: [1] }, memory: null, idleMs: null })
  })
})
