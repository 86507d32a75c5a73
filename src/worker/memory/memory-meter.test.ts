import { describe, expect, onTestFinished, test } from 'vitest'
import { systemClock, type Clock } from '../../platform/run/clock.ts'
import { until } from '../../../test/support/until.ts'
import { VirtualClock } from '../../../test/support/virtual-clock.ts'
import { aStart, aWorker, type WorkerScene } from '../../../test/support/worker/worker-scene.ts'
import type { Holding } from '../hardware/process-vram.ts'
import { MemoryMeter, type MeteredReplica } from './memory-meter.ts'
import { PeakMemory, type MeasuredMemory } from './peak-memory.ts'
import { quickly, startShell } from '../processes/testing/an-engine.ts'

const MIB = 1024 * 1024
const noGpu = { gpu_vendor: null, devices: [] }
const withGpu = { gpu_vendor: 'nvidia' as const, devices: [] }

/** A meter whose tool says what the test makes it say. */
function aMeter(replicas: () => readonly MeteredReplica[], clock: Clock = systemClock) {
  const tool = { says: async (): Promise<Holding[] | null> => [], asked: [] as (readonly number[])[] }
  const read = (_: unknown, pids: readonly number[]): Promise<Holding[] | null> => {
    tool.asked.push(pids)
    return tool.says()
  }
  return { meter: new MemoryMeter({ replicas, vram: { read }, clock }), tool }
}

/** An engine that sleeps. */
async function aSleeper(fields: Partial<MeteredReplica> = {}): Promise<MeteredReplica & { peak: PeakMemory }> {
  const { engine } = await startShell('exec sleep 1000')
  onTestFinished(async () => void (await engine.stop(quickly)))
  const peak = new PeakMemory()
  const noteMemory = (look: MeasuredMemory): boolean => peak.add(look)
  return { state: 'loading', pid: engine.identity.pid, mayUseDevices: true, noteMemory, ...fields, peak }
}

async function ready(worker: WorkerScene, ...specs: ReturnType<typeof aStart>[]): Promise<number[]> {
  for (const spec of specs) worker.supervisor.start(spec)
  await until(() => specs.every(({ id }) => worker.stateOf(id) === 'ready'))
  return specs.map(({ id }) => worker.supervisor.find(id)!.pid!)
}

describe('engines that run', () => {
  test('are told with what they hold, all with one call of the tool', async () => {
    const worker = await aWorker()
    const script = `echo up; exec node -e 'globalThis.held = Buffer.alloc(${100 * MIB}, 1); setInterval(() => {}, 1000)'`
    const options = { command: `${script} {{port}}`, ready_path: '/never' }
    const big = aStart({ model_name: 'big', engine: 'command', options })
    const small = aStart({ model_name: 'small' })
    const [pid] = await ready(worker, small)
    worker.supervisor.start(big)
    await until(() => worker.supervisor.find(big.id)?.pid !== undefined)
    const { meter, tool } = aMeter(() => worker.supervisor.all())
    tool.says = async () => [
      { pid: pid!, index: 1, bytes: 7 },
      { pid: pid!, index: 0, bytes: 5 },
      { pid: pid!, index: 1, bytes: 1 },
      { pid: 1, index: 0, bytes: 1000 },
    ]
    const memoryOf = (id: string) => worker.supervisor.report().find((replica) => replica.id === id)!.memory
    await until(async () => {
      ;(await meter.look(withGpu))()
      return memoryOf(big.id)!.ram > 100 * MIB
    })
    const devices = [
      { index: 0, bytes: 5 },
      { index: 1, bytes: 8 },
    ]
    expect(memoryOf(small.id)).toMatchObject({ devices })
    expect(memoryOf(small.id)!.ram).toBeGreaterThan(0)
    expect(memoryOf(small.id)!.ram).toBeLessThan(50 * MIB)
    // It may use a GPU, and the tool does not see it.
    expect(memoryOf(big.id)).toMatchObject({ devices: null })
    expect(tool.asked.at(-1)).toEqual(expect.arrayContaining([pid]))
  })

  test('make a new look worth while when one has become ready and when one has ended', async () => {
    const worker = await aWorker()
    const { meter } = aMeter(() => worker.supervisor.all())
    expect(meter.isStale()).toBe(false)
    const spec = aStart()
    await ready(worker, spec)
    expect(meter.isStale()).toBe(true)
    expect((await meter.look(noGpu))()).toBe(true)
    expect(meter.isStale()).toBe(false)
    expect((await meter.look(noGpu))()).toBe(false)
    const target = { what: 'replica', id: spec.id, generation: spec.generation } as const
    await worker.supervisor.stop({ target, force: true, wait_ms: 20_000 })
    expect(meter.isStale()).toBe(true)
    // What it held is free again, and that is news.
    expect((await meter.look(noGpu))()).toBe(true)
    expect(meter.isStale()).toBe(false)
  })
})

test('what is seen while an engine loads is told as such, also when it becomes ready during the look', async () => {
  const replica = await aSleeper()
  const { meter, tool } = aMeter(() => [replica])
  const look = async (bytes: number, during = (): void => {}): Promise<void> => {
    tool.says = async () => {
      during()
      return [{ pid: replica.pid!, index: 0, bytes }]
    }
    ;(await meter.look(withGpu))()
  }
  await look(2, () => Object.assign(replica, { state: 'ready' }))
  expect(replica.peak.value).toMatchObject({ loaded: false, devices: [{ index: 0, bytes: 2 }] })
  await look(1)
  expect(replica.peak.value).toMatchObject({ loaded: true, devices: [{ index: 0, bytes: 1 }] })
})

describe('what cannot be told', () => {
  test('an engine that ended between the look and its use has no figure', async () => {
    const replica = await aSleeper()
    const { meter } = aMeter(() => [replica])
    const take = await meter.look(noGpu)
    Object.assign(replica, { pid: undefined })
    take()
    expect(replica.peak.value).toBeNull()
  })

  test('VRAM is none without a GPU and for who may not use it, unknown when the tool has no figure', async () => {
    const devicesOf = async (fields: Partial<MeteredReplica>, machine: typeof noGpu | typeof withGpu) => {
      const replica = await aSleeper(fields)
      const { meter, tool } = aMeter(() => [replica])
      tool.says = async () => [{ pid: replica.pid!, index: 0, bytes: null }]
      ;(await meter.look(machine))()
      return replica.peak.value!.devices
    }
    expect(await devicesOf({}, noGpu)).toEqual([])
    expect(await devicesOf({ mayUseDevices: false }, withGpu)).toEqual([])
    expect(await devicesOf({}, withGpu)).toBeNull()
  })

  test('a tool that hangs or fails leaves VRAM unknown, and is not asked again while it hangs', async () => {
    const clock = new VirtualClock()
    const replica = await aSleeper()
    const { meter, tool } = aMeter(() => [replica], clock)
    const { promise, resolve } = Promise.withResolvers<Holding[] | null>()
    tool.says = () => promise
    const looking = meter.look(withGpu)
    await until(() => tool.asked.length === 1)
    await clock.advance(2000)
    ;(await looking)()
    expect(replica.peak.value).toMatchObject({ ram: expect.any(Number), devices: null })
    ;(await meter.look(withGpu))()
    expect(tool.asked).toHaveLength(1)
    resolve(null)
    await promise
    tool.says = () => Promise.reject(new Error('no such tool'))
    ;(await meter.look(withGpu))()
    expect(tool.asked).toHaveLength(2)
    expect(replica.peak.value!.devices).toBeNull()
    tool.says = async () => [{ pid: replica.pid!, index: 0, bytes: 9 }]
    expect((await meter.look(withGpu))()).toBe(true)
    expect(replica.peak.value!.devices).toEqual([{ index: 0, bytes: 9 }])
  })
})
