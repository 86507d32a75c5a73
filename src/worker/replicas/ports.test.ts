import { once } from 'node:events'
import { createServer } from 'node:net'
import fc from 'fast-check'
import { pino } from 'pino'
import { describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../platform/run/clock.ts'
import { silentLogger } from '../../platform/run/log.ts'
import { VirtualClock } from '../../../test/support/virtual-clock.ts'
import { Ports, type PortsOptions } from './ports.ts'

/** Ports 100 to 102 of a made-up machine, on which other programs have the ports in `used`. */
function somePorts(options: Partial<PortsOptions> = {}) {
  const clock = new VirtualClock()
  const used = new Set<number>()
  const warnings: Record<string, unknown>[] = []
  const ports = new Ports({
    range: { from: 100, to: 102 },
    clock,
    log: pino({ level: 'warn' }, { write: (line) => void warnings.push(JSON.parse(line) as Record<string, unknown>) }),
    random: () => 0,
    isFree: (port) => Promise.resolve(!used.has(port)),
    ...options,
  })
  return { ports, clock, used, warnings }
}

describe('a port', () => {
  test('goes to one replica at a time, also when several ask at once', async () => {
    const { ports } = somePorts()
    const taken = await Promise.all(['a', 'b', 'c'].map((key) => ports.take(key)))
    expect(new Set(taken)).toEqual(new Set([100, 101, 102]))
  })

  test('is the next one round, from a random place on', async () => {
    const { ports } = somePorts({ random: () => 0.99 })
    expect([await ports.take('a'), await ports.take('b')]).toEqual([102, 100])
  })

  test('that another program has is passed over', async () => {
    const { ports, used } = somePorts()
    used.add(100).add(102)
    expect(await ports.take('a')).toBe(101)
  })

  test('given back goes to its own replica at once, also while others are free', async () => {
    const { ports } = somePorts()
    for (let crash = 0; crash < 10; crash += 1) {
      const port = await ports.take('a')
      expect(port).toBe(100)
      ports.release(port)
    }
  })

  test('given back is the latest of several that the replica had', async () => {
    const { ports, used } = somePorts()
    ports.release(await ports.take('a'))
    used.add(100)
    expect(await ports.take('a')).toBe(101)
    ports.release(101)
    used.clear()
    expect(await ports.take('a')).toBe(101)
  })

  test('given back goes to nobody else for 15 s, even when nothing else is left', async () => {
    const { ports, clock } = somePorts({ range: { from: 100, to: 100 } })
    ports.release(await ports.take('a'))
    await clock.advance(14_999)
    await expect(ports.take('b')).rejects.toThrow('1 released less than 15 s ago')
    await clock.advance(1)
    expect(await ports.take('b')).toBe(100)
  })

  test('is kept for its replica for 5 min while there are others', async () => {
    const { ports, clock, warnings } = somePorts({ range: { from: 100, to: 101 } })
    ports.release(await ports.take('a'))
    ports.release(await ports.take('b'))
    await clock.advance(5 * 60_000 - 1)
    expect(await ports.take('a')).toBe(100)
    ports.release(100)
    await clock.advance(1)
    expect(await ports.take('c')).toBe(101)
    expect(warnings).toEqual([])
  })

  test('that is kept for another is used when nothing else is left, the longest released first, with a warning', async () => {
    const { ports, clock, warnings } = somePorts()
    await ports.take('a')
    await ports.take('b')
    await ports.take('c')
    ports.release(102)
    await clock.advance(1000)
    ports.release(101)
    await clock.advance(20_000)
    expect(await ports.take('d')).toBe(102)
    expect(warnings).toMatchObject([{ port: 102, replica: 'd', keptFor: 'c' }])
    expect(await ports.take('b')).toBe(101)
    expect(warnings).toHaveLength(1)
  })

  test('released twice, or never had, changes nothing', async () => {
    const { ports, clock } = somePorts({ range: { from: 100, to: 100 } })
    ports.release(100)
    ports.release(await ports.take('a'))
    await clock.advance(10_000)
    ports.release(100)
    await clock.advance(5_000)
    expect(await ports.take('b')).toBe(100)
  })

  test('is not kept for ever when the clock is set back', async () => {
    let nowMs = 1_000_000
    const { ports } = somePorts({ range: { from: 100, to: 100 }, clock: { ...systemClock, nowMs: () => nowMs } })
    ports.release(await ports.take('a'))
    nowMs = 0
    await expect(ports.take('b')).rejects.toThrow('try again in 15 s')
    nowMs += 15_000
    expect(await ports.take('b')).toBe(100)
  })
})

describe('the port of a re-adopted engine', () => {
  test('is not handed out, and is kept for its replica afterwards', async () => {
    const { ports } = somePorts({ range: { from: 100, to: 101 } })
    ports.hold(100, 'a')
    ports.hold(100, 'a')
    expect(await ports.take('b')).toBe(101)
    ports.release(100)
    expect(await ports.take('a')).toBe(100)
  })

  test('may lie outside the range, and is never handed out then', async () => {
    const { ports, clock } = somePorts({ range: { from: 100, to: 100 } })
    ports.hold(7, 'a')
    ports.release(7)
    await clock.advance(60_000)
    expect(await ports.take('a')).toBe(100)
  })

  test('cannot be that of two replicas', () => {
    const { ports } = somePorts()
    ports.hold(100, 'a')
    expect(() => ports.hold(100, 'b')).toThrow('Engine port 100 cannot be used for b: a has it.')
  })

  test('wins over a start that is looking at it', async () => {
    const check = Promise.withResolvers<boolean>()
    const { ports } = somePorts({ isFree: (port) => (port === 100 ? check.promise : Promise.resolve(true)) })
    const taken = ports.take('b')
    ports.hold(100, 'a')
    check.resolve(true)
    expect(await taken).toBe(101)
  })
})

describe('without a free port', () => {
  test('the error counts who has them and says what to do', async () => {
    const { ports, clock, used } = somePorts()
    used.add(102)
    await ports.take('a')
    ports.release(await ports.take('b'))
    await clock.advance(4_500)
    await expect(ports.take('c')).rejects.toMatchObject({
      code: 'unavailable',
      retryAfterS: 11,
      message:
        'No free engine port in 100-102: 1 of 3 used by replicas, 1 released less than 15 s ago, 1 used by other programs. Widen the range with --engine-ports, or try again in 11 s.',
    })
  })

  test('nothing is promised that will not come by itself', async () => {
    const { ports } = somePorts({ range: { from: 100, to: 100 } })
    await ports.take('a')
    const text =
      'No free engine port in 100-100: 1 of 1 used by replicas, 0 released less than 15 s ago, 0 used by other programs. Widen the range with --engine-ports.'
    await expect(ports.take('b')).rejects.toThrow(text)
  })

  test('a check that fails is an error of its own and holds nothing back', async () => {
    let fails = true
    const { ports } = somePorts({
      range: { from: 100, to: 100 },
      isFree: () => (fails ? Promise.reject(new Error('EMFILE')) : Promise.resolve(true)),
    })
    await expect(ports.take('a')).rejects.toThrow('EMFILE')
    fails = false
    expect(await ports.take('a')).toBe(100)
  })
})

describe('on this machine', () => {
  test.each([
    ['127.0.0.1', '127.0.0.1'],
    ['all IPv4 addresses', '0.0.0.0'],
    ['all addresses', undefined],
  ])('a port that a program has on %s is taken', async (_, host) => {
    const program = createServer()
    program.listen({ port: 0, ...(host === undefined ? {} : { host }) })
    await once(program, 'listening')
    onTestFinished(() => void program.close())
    const { port } = program.address() as { port: number }
    const range = { from: port, to: port }
    const ports = new Ports({ range, clock: systemClock, log: silentLogger, random: () => 0 })
    await expect(ports.take('a')).rejects.toThrow('1 used by other programs')
  })

  test('a port that was found free can be listened on', async () => {
    const range = { from: 34_000, to: 34_999 }
    const ports = new Ports({ range, clock: systemClock, log: silentLogger, random: Math.random })
    const server = createServer()
    server.listen(await ports.take('a'), '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    expect(server.listening).toBe(true)
  })
})

/** Whatever happens in whatever order, checked against what the rules say of each port. */
test('no port ever has two holders or goes to another key within 15 s, and there is an error only when all are barred', async () => {
  const keys = fc.constantFrom('a', 'b', 'c', 'd', 'e')
  const event = fc.oneof(
    { weight: 4, arbitrary: fc.record({ what: fc.constant('take' as const), key: keys }) },
    { weight: 3, arbitrary: fc.record({ what: fc.constant('release' as const), index: fc.nat(5) }) },
    { weight: 2, arbitrary: fc.record({ what: fc.constant('wait' as const), ms: fc.nat(200_000) }) },
    {
      weight: 1,
      arbitrary: fc.record({ what: fc.constant('program' as const), port: fc.integer({ min: 100, max: 102 }) }),
    },
  )
  await fc.assert(
    fc.asyncProperty(fc.array(event, { maxLength: 60 }), fc.nat(2), async (events, start) => {
      let nowMs = 0
      const clock = { ...systemClock, nowMs: () => nowMs }
      const { ports, used } = somePorts({ clock, random: () => start / 3 })
      const held = new Map<number, string>()
      const last = new Map<number, { key: string; atMs: number }>()
      const isBarred = (port: number, key: string): boolean => {
        const before = last.get(port)
        const rests = before !== undefined && before.key !== key && nowMs - before.atMs < 15_000
        return held.has(port) || used.has(port) || rests
      }
      for (const step of events) {
        if (step.what === 'wait') nowMs += step.ms
        else if (step.what === 'program') {
          if (!used.delete(step.port) && !held.has(step.port)) used.add(step.port)
        } else if (step.what === 'release') {
          const [port, key] = [...held][step.index] ?? []
          if (port === undefined || key === undefined) continue
          ports.release(port)
          held.delete(port)
          last.set(port, { key, atMs: nowMs })
        } else {
          const open = [100, 101, 102].filter((port) => !isBarred(port, step.key))
          const port = await ports.take(step.key).catch(() => undefined)
          if (port === undefined) expect(open).toEqual([])
          else {
            expect(open).toContain(port)
            held.set(port, step.key)
          }
        }
      }
    }),
  )
})
