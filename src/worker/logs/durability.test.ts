import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { silentLogger } from '../../platform/run/log.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { until } from '../../../test/support/until.ts'
import { VirtualClock } from '../../../test/support/virtual-clock.ts'
import { logFileName } from './file-name.ts'
import { ReplicaLogs } from './replica-logs.ts'

const DAY_MS = 24 * 60 * 60 * 1000

async function openLogs(folder: string, clock = new VirtualClock(1000), log = silentLogger): Promise<ReplicaLogs> {
  const logs = await ReplicaLogs.open(folder, { clock, log })
  onTestFinished(() => logs.dispose())
  return logs
}

async function numbers(logs: ReplicaLogs, name = 'm'): Promise<number[]> {
  return (await logs.read(name, {})).map(({ text }) => Number(text))
}

function writeMany(logs: ReplicaLogs, key: string, count: number, from = 1): void {
  for (let i = from; i < from + count; i += 1) logs.write(key, 'stdout', String(i))
}

function countTo(last: number, from = 1): number[] {
  return Array.from({ length: last - from + 1 }, (_, i) => from + i)
}

test('numbers go on without a gap after an orderly end', async () => {
  const folder = tempFolder()
  const first = await openLogs(folder)
  writeMany(first, 'a#0', 3)
  await first.dispose()
  const second = await openLogs(folder)
  second.write('b#0', 'stdout', 'x')
  expect((await second.read('b', {})).map(({ seq }) => seq)).toEqual([4])
})

test('a file that ends anywhere loses its unfinished line and nothing else, and goes on', async () => {
  const source = tempFolder()
  const logs = await openLogs(source)
  writeMany(logs, 'm#0', 5)
  await logs.dispose()
  const file = `${logFileName('m#0')}.jsonl`
  const bytes = readFileSync(join(source, file))
  await fc.assert(
    fc.asyncProperty(fc.nat(bytes.length), async (cut) => {
      const folder = tempFolder()
      writeFileSync(join(folder, file), bytes.subarray(0, cut))
      const left = bytes.subarray(0, cut).toString().split('\n')
      // A line that lacks nothing but its end is whole.
      const whole = left.length - (left.at(-1)!.endsWith('}') ? 0 : 1)
      const after = await openLogs(folder)
      expect(await numbers(after)).toEqual(countTo(whole))
      after.write('m#0', 'stdout', '99')
      await after.dispose()
      const later = await openLogs(folder)
      expect(await numbers(later)).toEqual([...countTo(whole), 99])
      const seqs = (await later.read('m', {})).map(({ seq }) => seq)
      expect(seqs.at(-1)).toBeGreaterThan(whole)
    }),
    { numRuns: 40, examples: [[0], [1], [bytes.length - 1], [bytes.length]] },
  )
})

test('damage in the middle costs the damaged lines only', async () => {
  const folder = tempFolder()
  const first = await openLogs(folder)
  writeMany(first, 'm#0', 3)
  await first.dispose()
  const file = join(folder, `${logFileName('m#0')}.jsonl`)
  appendFileSync(file, '\0\0\0\n{"seq":4}\nnull\n"{"\n')
  const second = await openLogs(folder)
  writeMany(second, 'm#0', 1, 4)
  await second.dispose()
  expect(await numbers(await openLogs(folder))).toEqual([1, 2, 3, 4])
})

test('lines that were written twice, because the first attempt broke off, are read once', async () => {
  const folder = tempFolder()
  const first = await openLogs(folder)
  writeMany(first, 'm#0', 3)
  await first.dispose()
  const file = join(folder, `${logFileName('m#0')}.jsonl`)
  const lines = readFileSync(file, 'utf8')
  writeFileSync(file, `${lines.slice(0, -20)}\n${lines}`)
  const second = await openLogs(folder)
  expect(await numbers(second)).toEqual([1, 2, 3])
  expect(second.entries()[0]!.replicas[0]!.lines).toBe(3)
})

test('files that are not ours are left alone', async () => {
  const folder = tempFolder()
  const first = await openLogs(folder)
  writeMany(first, 'm#0', 1)
  await first.dispose()
  copyFileSync(join(folder, `${logFileName('m#0')}.jsonl`), join(folder, 'copy.jsonl'))
  writeFileSync(join(folder, 'notes.txt'), 'mine')
  writeFileSync(join(folder, 'sequence'), 'nonsense')
  const second = await openLogs(folder)
  expect(second.entries()).toMatchObject([{ model_name: 'm', replicas: [{ lines: 1 }] }])
  writeMany(second, 'm#0', 1, 2)
  expect((await second.read('m', {})).map(({ seq }) => seq)).toEqual([1, 2])
  expect(readdirSync(folder)).toEqual(expect.arrayContaining(['copy.jsonl', 'notes.txt']))
})

test('numbers never come again, also when all lines are gone', async () => {
  const folder = tempFolder()
  const first = await openLogs(folder)
  writeMany(first, 'm#0', 50)
  await first.dispose()
  for (const suffix of ['.jsonl', '.old.jsonl']) rmSync(join(folder, `${logFileName('m#0')}${suffix}`), { force: true })
  const second = await openLogs(folder)
  second.write('m#0', 'stdout', 'x')
  expect((await second.read('m', {}))[0]!.seq).toBe(51)
})

/** Writes until it is killed, and tells the numbers as a reader might have seen them; not before some are on disk. */
const WRITER = `
const { ReplicaLogs } = await import(process.argv[1])
const { systemClock } = await import(process.argv[2])
const logs = await ReplicaLogs.open(process.argv[3], { clock: systemClock, log: { warn() {} } })
let n = 0
const write = () => {
  for (let i = 0; i < 40; i += 1) logs.write('m#' + (n % 2), 'stdout', String(n += 1) + ' ' + 'x'.repeat(500))
  process.stdout.write(logs.entries()[0].replicas.map((r) => r.last_seq).sort((a, b) => b - a)[0] + '\\n')
  setTimeout(write, 1)
}
logs.write('m#0', 'stdout', '0 ' + 'x'.repeat(500))
await logs.flush()
write()
`

test('a worker that is killed while it writes leaves whole lines, and its numbers never come again', async () => {
  const folder = tempFolder()
  let highest = 0
  for (let round = 1; round <= 4; round += 1) {
    const seen = await writeAndKill(folder, highest + round * 900)
    expect(seen).toBeGreaterThan(highest)
    const logs = await openLogs(folder)
    const lines = await logs.read('m', { limit: 10_000 })
    expect(lines.length).toBeGreaterThan(0)
    expect(lines.every(({ text }) => /^\d+ x{500}$/.test(text))).toBe(true)
    for (const key of ['m#0', 'm#1']) {
      const seqs = (await logs.read(key, {})).map(({ seq }) => seq)
      expect(seqs).toEqual([...new Set(seqs)].toSorted((a, b) => a - b))
    }
    logs.write('m#0', 'stdout', `1 ${'x'.repeat(500)}`)
    highest = logs.entries()[0]!.replicas[0]!.last_seq
    expect(highest).toBeGreaterThan(seen)
    await logs.dispose()
  }
})

/** Kills the writer once it has given out this number; answers the highest it told of. */
async function writeAndKill(folder: string, enough: number): Promise<number> {
  const urls = ['./replica-logs.ts', '../../platform/run/clock.ts'].map((path) => new URL(path, import.meta.url).href)
  const child = spawn(process.execPath, ['--input-type=module', '-e', WRITER, ...urls, folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const exited = once(child, 'exit')
  let told = ''
  const highest = (): number => Number(told.split('\n').at(-2) ?? 0)
  for await (const chunk of child.stdout.setEncoding('utf8')) {
    told += String(chunk)
    if (highest() >= enough) child.kill('SIGKILL')
  }
  expect(await exited).toEqual([null, 'SIGKILL'])
  return highest()
}

test('a disk that refuses costs nothing but a warning; what is kept gets there when it takes it again', async () => {
  const folder = tempFolder()
  const warnings: string[] = []
  const logs = await openLogs(
    folder,
    new VirtualClock(1000),
    pino({}, { write: (text: string) => void warnings.push(text) }),
  )
  const inTheWay = join(folder, `${logFileName('m#0')}.jsonl`)
  mkdirSync(inTheWay)
  writeMany(logs, 'm#0', 1500)
  writeMany(logs, 'other#0', 2)
  logs.close('m#0')
  await logs.flush()
  await logs.flush()
  expect(warnings).toHaveLength(1)
  expect(await numbers(logs)).toEqual(countTo(1500, 501))
  rmdirSync(inTheWay)
  await logs.flush()
  await logs.dispose()
  const after = await openLogs(folder)
  expect(await numbers(after)).toEqual(countTo(1500, 501))
  expect(await numbers(after, 'other')).toEqual([1, 2])
})

test('lines reach the disk by themselves', async () => {
  const folder = tempFolder()
  const clock = new VirtualClock()
  const logs = await openLogs(folder, clock)
  const onDisk = async (): Promise<number[]> => {
    await clock.advance(100)
    const text = readFileSync(join(folder, `${logFileName('m#0')}.jsonl`), { encoding: 'utf8', flag: 'a+' })
    return [...text.matchAll(/"text":"(\d)"/g)].map(([, number]) => Number(number))
  }
  writeMany(logs, 'm#0', 3)
  await until(async () => (await onDisk()).length === 3)
  writeMany(logs, 'm#0', 1, 4)
  await until(async () => (await onDisk()).length === 4)
  expect(await onDisk()).toEqual([1, 2, 3, 4])
})

test('however lines and writes to disk alternate, the last 1000 survive', async () => {
  const step = fc.oneof(fc.integer({ min: 1, max: 1300 }), fc.constantFrom('flush', 'close', 'restart'))
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
      const folder = tempFolder()
      let logs = await openLogs(folder)
      let written = 0
      for (const step of steps) {
        if (step === 'flush') void logs.flush()
        else if (step === 'close') logs.close('m#0')
        else if (step === 'restart') {
          await logs.dispose()
          logs = await openLogs(folder)
        } else {
          writeMany(logs, 'm#0', step, written + 1)
          written += step
        }
        expect(await numbers(logs)).toEqual(countTo(written, Math.max(1, written - 999)))
      }
    }),
    { numRuns: 30 },
  )
})

test('a log is removed 14 days after its last line, but never one that has a writer', async () => {
  const folder = tempFolder()
  const clock = new VirtualClock()
  const logs = await openLogs(folder, clock)
  for (const key of ['ended#0', 'running#0']) logs.write(key, 'stdout', 'x')
  logs.close('ended#0')
  await logs.flush()
  await clock.advance(14 * DAY_MS - 60_000)
  await logs.flush()
  expect(logs.entries().map(({ model_name }) => model_name)).toEqual(['ended', 'running'])
  // Nobody asks for it: it is looked for now and then.
  await until(async () => {
    await clock.advance(60_000)
    return logs.entries().length === 1
  })
  expect(logs.entries().map(({ model_name }) => model_name)).toEqual(['running'])
  expect(readdirSync(folder).filter((file) => file.endsWith('.jsonl'))).toHaveLength(1)
  await logs.dispose()
  const after = await openLogs(folder, new VirtualClock(30 * DAY_MS))
  await after.flush()
  expect(after.entries()).toEqual([])
})

test('500 logs are kept; those that ended first go first', async () => {
  const clock = new VirtualClock()
  const folder = tempFolder()
  const logs = await openLogs(folder, clock)
  logs.write('running#0', 'stdout', 'x')
  for (let i = 0; i < 510; i += 1) {
    logs.write(`m#${i}`, 'stdout', 'x')
    logs.close(`m#${i}`)
    await clock.advance(1)
  }
  await logs.flush()
  const keys = logs.entries().flatMap(({ replicas }) => replicas.map(({ key }) => key))
  expect(keys).toEqual([...countTo(509, 11).map((i) => `m#${i}`), 'running#0'])
  expect(readdirSync(folder).filter((file) => file.endsWith('.jsonl'))).toHaveLength(500)
})

test('a folder that cannot be used is refused with what to do about it', async () => {
  const file = join(tempFolder(), 'file')
  writeFileSync(file, '')
  await expect(openLogs(join(file, 'logs'))).rejects.toThrow(/Cannot keep logs in .*Change its owner or permissions/)
})
