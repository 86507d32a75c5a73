import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { silentLogger } from '../../platform/run/log.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { until } from '../../../test/support/until.ts'
import { VirtualClock } from '../../../test/support/virtual-clock.ts'
import type { LogQuery } from './look.ts'
import { ReplicaLogs } from './replica-logs.ts'

async function openLogs(folder = tempFolder()): Promise<ReplicaLogs> {
  const logs = await ReplicaLogs.open(folder, { clock: new VirtualClock(1000), log: silentLogger })
  onTestFinished(() => logs.dispose())
  return logs
}

interface Reader {
  seqs: number[]
  texts: string[]
  skips: (number | null)[]
  stop: AbortController
  ended: Promise<void>
}

/** Follows until it is stopped; `pause` is waited for before each batch is taken. */
function follow(logs: ReplicaLogs, name: string, query: LogQuery = {}, pause = async (): Promise<void> => {}): Reader {
  const reader = { seqs: [], texts: [], skips: [], stop: new AbortController() } as unknown as Reader
  onTestFinished(() => reader.stop.abort())
  reader.ended = (async () => {
    await pause()
    for await (const { lines, skipped } of logs.follow(name, query, reader.stop.signal)) {
      if (skipped !== 0) reader.skips.push(skipped)
      reader.seqs.push(...lines.map(({ seq }) => seq))
      reader.texts.push(...lines.map(({ text }) => text))
      await pause()
    }
  })()
  return reader
}

function writeMany(logs: ReplicaLogs, key: string, count: number, from = 1): void {
  for (let i = from; i < from + count; i += 1) logs.write(key, 'stdout', `${key} ${i}`)
}

/** A door that lets one through each time it is opened. */
function aDoor(): { pass: () => Promise<void>; open: () => void } {
  let open = (): void => {}
  return { pass: () => new Promise((resolve) => (open = resolve)), open: () => open() }
}

test('a reader gets what is there and then each new line', async () => {
  const logs = await openLogs()
  writeMany(logs, 'm#0', 2)
  const reader = follow(logs, 'm#0')
  await until(() => reader.texts.length === 2)
  writeMany(logs, 'm#0', 2, 3)
  writeMany(logs, 'm#1', 1)
  await until(() => reader.texts.length === 4)
  expect(reader.texts).toEqual(['m#0 1', 'm#0 2', 'm#0 3', 'm#0 4'])
  expect(reader.skips).toEqual([])
})

test('replicas that start later join, also when nothing was there at first', async () => {
  const logs = await openLogs()
  const reader = follow(logs, 'm')
  writeMany(logs, 'other#0', 1)
  await new Promise((resolve) => setImmediate(resolve))
  writeMany(logs, 'm#3', 1)
  await until(() => reader.texts.length === 1)
  writeMany(logs, 'm#0', 1)
  writeMany(logs, 'm#3', 1, 2)
  await until(() => reader.texts.length === 3)
  expect(reader.texts).toEqual(['m#3 1', 'm#0 1', 'm#3 2'])
})

test('a reader that comes back goes on after the last line it saw, across a restart', async () => {
  const folder = tempFolder()
  const first = await openLogs(folder)
  writeMany(first, 'm#0', 5)
  writeMany(first, 'm#1', 5)
  await first.dispose()
  const logs = await openLogs(folder)
  const reader = follow(logs, 'm', { after: 7 })
  writeMany(logs, 'm#0', 1, 6)
  await until(() => reader.texts.length === 4)
  expect(reader.texts).toEqual(['m#1 3', 'm#1 4', 'm#1 5', 'm#0 6'])
  expect(reader.skips).toEqual([])
})

test('a number that was never given out does not wait for ever', async () => {
  const logs = await openLogs()
  writeMany(logs, 'm#0', 1)
  const reader = follow(logs, 'm', { after: 999_999 })
  await new Promise((resolve) => setImmediate(resolve))
  writeMany(logs, 'm#0', 1, 2)
  await until(() => reader.texts.length === 1)
  expect(reader.texts).toEqual(['m#0 2'])
})

test('a limit counts what is there, not what comes', async () => {
  const logs = await openLogs()
  writeMany(logs, 'm#0', 5)
  const reader = follow(logs, 'm', { limit: 1 })
  await until(() => reader.texts.length === 1)
  writeMany(logs, 'm#0', 2, 6)
  await until(() => reader.texts.length === 3)
  expect(reader.texts).toEqual(['m#0 5', 'm#0 6', 'm#0 7'])
})

test('filters hold for lines that come later', async () => {
  const logs = await openLogs()
  const reader = follow(logs, 'm', { stream: 'stderr', grep: 'BAD' })
  logs.write('m#0', 'stdout', 'bad')
  logs.write('m#0', 'stderr', 'good')
  await new Promise((resolve) => setImmediate(resolve))
  logs.write('m#0', 'stderr', 'bad at last')
  await until(() => reader.texts.length === 1)
  expect(reader.texts).toEqual(['bad at last'])
})

test('a reader that is slow is told how many lines it missed, and goes on', async () => {
  const logs = await openLogs()
  const door = aDoor()
  const reader = follow(logs, 'm', {}, door.pass)
  writeMany(logs, 'm#0', 1)
  door.open()
  await until(() => reader.texts.length === 1)
  writeMany(logs, 'm#0', 3000, 2)
  writeMany(logs, 'm#1', 1500)
  // Its first look is of one moment; the rest of what it missed comes with the next.
  while (reader.texts.at(-1) !== 'm#1 1500') {
    door.open()
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect(reader.skips).toEqual([2000 + 500])
  expect(reader.texts).toHaveLength(1 + 1000 + 1000)
  expect(reader.texts.slice(0, 2)).toEqual(['m#0 1', 'm#0 2002'])
})

test('one that comes back too late is told that lines are missing, and one that does not know the past is not', async () => {
  const folder = tempFolder()
  const first = await openLogs(folder)
  writeMany(first, 'm#0', 1300)
  await first.flush()
  writeMany(first, 'm#0', 1000, 1301)
  await first.dispose()
  const logs = await openLogs(folder)
  const [late, intime, fresh] = [{ after: 5 }, { after: 1400 }, {}].map((query) => follow(logs, 'm', query))
  await until(() => [late, intime, fresh].every((reader) => reader!.texts.at(-1) === 'm#0 2300'))
  expect([late!.skips, intime!.skips, fresh!.skips]).toEqual([[null], [], []])
  expect([late!.texts[0], intime!.texts[0], fresh!.texts[0]]).toEqual(['m#0 1301', 'm#0 1401', 'm#0 1301'])
})

test('readers end when they are stopped and when the logs end', async () => {
  const logs = await openLogs()
  const [one, other] = [follow(logs, 'm'), follow(logs, 'm')]
  one.stop.abort()
  await one.ended
  writeMany(logs, 'm#0', 1)
  await until(() => other.texts.length === 1)
  await logs.dispose()
  await other.ended
  expect(one.texts).toEqual([])
})

const keys = ['m#0', 'm#1', 'm#2', 'n#0'] as const
const step = fc.oneof(
  { weight: 8, arbitrary: fc.record({ write: fc.constantFrom(...keys), count: fc.integer({ min: 1, max: 9 }) }) },
  { weight: 2, arbitrary: fc.record({ close: fc.constantFrom(...keys) }) },
  { weight: 2, arbitrary: fc.constantFrom('flush', 'breathe', 'settle') },
  {
    weight: 3,
    arbitrary: fc.record({
      follow: fc.constantFrom('m', 'm#1', 'n'),
      after: fc.option(fc.nat(60), { nil: undefined }),
      slow: fc.boolean(),
    }),
  },
)

test('whatever else happens, each reader gets each of its lines exactly once and in order', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(40), fc.array(step, { maxLength: 60 }), async (past, steps) => {
      const folder = tempFolder()
      const before = await openLogs(folder)
      for (let i = 0; i < past; i += 1) writeMany(before, keys[i % keys.length]!, 1)
      await before.dispose()
      const logs = await openLogs(folder)
      let seq = past
      const written = Array.from({ length: past }, (_, i) => ({ key: keys[i % keys.length]!, seq: i + 1 }))
      const readers: { name: string; after: number; reader: Reader }[] = []
      for (const step of steps) {
        if (step === 'flush') void logs.flush()
        else if (step === 'breathe') await Promise.resolve()
        else if (step === 'settle') await new Promise((resolve) => setImmediate(resolve))
        else if ('close' in step) logs.close(step.close)
        else if ('follow' in step) {
          const after = step.after === undefined ? undefined : Math.min(step.after, seq)
          const pause = (): Promise<void> => (step.slow ? new Promise((done) => setImmediate(done)) : Promise.resolve())
          readers.push({ name: step.follow, after: after ?? 0, reader: follow(logs, step.follow, { after }, pause) })
        } else {
          writeMany(logs, step.write, step.count)
          for (let i = 0; i < step.count; i += 1) written.push({ key: step.write, seq: (seq += 1) })
        }
      }
      for (const { name, after, reader } of readers) {
        const own = written.filter((line) => line.seq > after && (line.key === name || line.key.startsWith(`${name}#`)))
        await until(() => reader.seqs.length >= own.length)
        reader.stop.abort()
        await reader.ended
        expect(reader.seqs).toEqual(own.map((line) => line.seq))
        expect(reader.skips).toEqual([])
      }
      await logs.dispose()
    }),
    { numRuns: 60 },
  )
})

test('lines that a reader got and lines that it was told of add up to all there were', async () => {
  const burst = fc.record({
    key: fc.constantFrom(...keys),
    count: fc.integer({ min: 1, max: 2500 }),
    take: fc.boolean(),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(burst, { minLength: 1, maxLength: 15 }), async (bursts) => {
      const logs = await openLogs()
      const door = aDoor()
      const reader = follow(logs, 'm', { after: 0 }, door.pass)
      const total = (): number => reader.seqs.length + reader.skips.reduce<number>((sum, skip) => sum + skip!, 0)
      let written = 0
      for (const { key, count, take } of bursts) {
        writeMany(logs, key, count)
        if (key.startsWith('m#')) written += count
        if (!take) continue
        door.open()
        await new Promise((resolve) => setImmediate(resolve))
      }
      await until(() => {
        door.open()
        return total() >= written
      })
      expect(total()).toBe(written)
      expect(reader.seqs).toEqual([...new Set(reader.seqs)].toSorted((a, b) => a - b))
      reader.stop.abort()
      door.open()
      await reader.ended
      await logs.dispose()
    }),
    { numRuns: 25 },
  )
})
