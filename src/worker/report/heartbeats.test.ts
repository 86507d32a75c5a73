import { describe, expect, onTestFinished, test } from 'vitest'
import type { HeartbeatMessage } from '../../api/bus/messages.ts'
import type { Hardware } from '../../api/hardware.ts'
import { silentLogger } from '../../platform/run/log.ts'
import { aMachine } from '../../../test/support/builders.ts'
import { VirtualClock } from '../../../test/support/virtual-clock.ts'
import { Heartbeats } from './heartbeats.ts'
import { startMeasurements, type Measurements } from '../memory/measurements.ts'

function aBoot() {
  let seq = 0
  return { id: 'boot', nextSeq: () => seq + 1, takeSeq: () => (seq += 1) }
}

function someHeartbeats() {
  const clock = new VirtualClock()
  const sent: HeartbeatMessage[] = []
  const heartbeats = new Heartbeats({
    boot: aBoot(),
    runId: 'run1',
    publish: (heartbeat) => void sent.push(heartbeat),
    report: () => [],
    engines: () => [],
    hardware: () => aMachine(),
    unread: () => ['replica7'],
    clock,
    log: silentLogger,
  })
  onTestFinished(() => heartbeats.dispose())
  return { clock, sent, heartbeats }
}

describe('heartbeats', () => {
  test('come once a period and at once after a change, numbered within one boot', async () => {
    const { clock, sent, heartbeats } = someHeartbeats()
    heartbeats.every(5000)
    await clock.advance(10_000)
    expect(sent.map(({ seq }) => seq)).toEqual([1, 2, 3])
    expect(heartbeats.nextSeq()).toBe(4)
    heartbeats.wake()
    await clock.advance(0)
    expect(sent.at(-1)).toEqual({
      boot_id: 'boot',
      run_id: 'run1',
      seq: 4,
      replicas: [],
      engines: [],
      unread: ['replica7'],
      ...aMachine(),
    })
  })

  test('at another pace the numbers go on', async () => {
    const { clock, sent, heartbeats } = someHeartbeats()
    heartbeats.every(5000)
    await clock.advance(5000)
    heartbeats.every(5000)
    heartbeats.every(1000)
    await clock.advance(2000)
    expect(sent.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5])
  })

  test('end for good', async () => {
    const { clock, sent, heartbeats } = someHeartbeats()
    heartbeats.every(5000)
    await clock.advance(0)
    await heartbeats.dispose()
    heartbeats.every(1000)
    heartbeats.wake()
    await clock.advance(60_000)
    expect(sent).toHaveLength(1)
  })
})

describe('measurements', () => {
  test('a failure leaves the last value standing', async () => {
    const clock = new VirtualClock()
    const answers = [aMachine({ total_ram: 7 }), new Error('nvidia-smi failed'), aMachine({ total_ram: 9 })]
    const measure = async (): Promise<Hardware> => {
      const answer = answers.shift()!
      if (answer instanceof Error) throw answer
      return answer
    }
    const measurements = await startMeasurements(measure, clock, silentLogger)
    onTestFinished(() => measurements.dispose())
    expect(measurements.last().total_ram).toBe(7)
    measurements.every(1000)
    await clock.advance(0)
    expect(measurements.last().total_ram).toBe(7)
    await clock.advance(1000)
    expect(measurements.last().total_ram).toBe(9)
  })

  test('a look at the engines counts only when the machine has been measured after it', async () => {
    const clock = new VirtualClock()
    const order: string[] = []
    let machine = Promise.withResolvers<Hardware>()
    machine.resolve(aMachine({ total_ram: 1 }))
    const measure = (): Promise<Hardware> => (order.push('machine'), machine.promise)
    const look = async (known: Hardware): Promise<() => boolean> => {
      order.push(`look, knowing ${known.total_ram}`)
      return () => (order.push(`take, knowing ${measurements?.last().total_ram}`), known.total_ram === 1)
    }
    const onNews = (): void => void order.push('news')
    let measurements: Measurements | undefined
    const started = await startMeasurements(measure, clock, silentLogger, { look, onNews })
    measurements = started
    onTestFinished(() => started.dispose())
    started.every(1000)
    machine = Promise.withResolvers()
    await clock.advance(0)
    order.length = 0
    started.wake()
    machine.resolve(aMachine({ total_ram: 2 }))
    await clock.advance(0)
    expect(order.slice(0, 2)).toEqual(['take, knowing 2', 'news'])
    await clock.advance(0)
    // Woken while one was under way: there is another.
    expect(order.slice(2)).toEqual(['look, knowing 2', 'machine', 'take, knowing 2'])
  })

  test('while something that has ended is not in the last reading, the next one comes soon, and what is read is told', async () => {
    const clock = new VirtualClock()
    const begun: number[] = []
    let news = 0
    const measurements = await startMeasurements(
      // As a slow tool that is not waited for: its figures are those of 700 ms ago.
      async () => ({ ...aMachine(), begunMs: clock.nowMs() - 700 }),
      clock,
      silentLogger,
      {
        look: async () => () => false,
        onNews: () => (news += 1),
        onRead: (begunMs) => begun.push(begunMs) > 0 && begunMs >= 0,
        isOpen: () => begun.at(-1)! < 0,
      },
    )
    onTestFinished(() => measurements.dispose())
    expect(measurements.last()).toEqual(aMachine())
    measurements.every(60_000)
    await clock.advance(59_000)
    expect(begun).toEqual([-700, -700, -200, 300])
    expect(news).toBe(1)
  })

  test('one that hangs holds up nobody, and there is never a second beside it', async () => {
    const clock = new VirtualClock()
    let calls = 0
    const { promise, resolve } = Promise.withResolvers<Hardware>()
    const starting = startMeasurements(() => (calls++, promise), clock, silentLogger)
    await clock.advance(5000)
    const measurements = await starting
    onTestFinished(() => measurements.dispose())
    expect(measurements.last().total_ram).toBe(0)
    measurements.every(1000)
    await clock.advance(60_000)
    expect(calls).toBe(1)
    resolve(aMachine({ total_ram: 7 }))
    await clock.advance(0)
    expect(measurements.last().total_ram).toBe(7)
  })
})
