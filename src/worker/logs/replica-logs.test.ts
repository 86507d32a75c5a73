import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { silentLogger } from '../../platform/run/log.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { VirtualClock } from '../../../test/support/virtual-clock.ts'
import { ReplicaLogs } from './replica-logs.ts'

async function openLogs(folder = tempFolder(), clock = new VirtualClock(1000)): Promise<ReplicaLogs> {
  const logs = await ReplicaLogs.open(folder, { clock, log: silentLogger })
  onTestFinished(() => logs.dispose())
  return logs
}

/** Lines from memory and lines from disk must look the same. */
async function reopened(logs: ReplicaLogs, folder: string): Promise<ReplicaLogs> {
  await logs.dispose()
  return openLogs(folder)
}

async function texts(logs: ReplicaLogs, name: string, query = {}): Promise<string[]> {
  return (await logs.read(name, query)).map(({ text }) => text)
}

function writeMany(logs: ReplicaLogs, key: string, count: number, from = 1): void {
  for (let i = from; i < from + count; i += 1) logs.write(key, 'stdout', `${key} ${i}`)
}

test('a line has a number, a time, its replica and its stream', async () => {
  const logs = await openLogs()
  logs.write('m#0', 'stdout', 'hello')
  logs.write('m#0', 'stderr', 'oh')
  expect(await logs.read('m#0', {})).toEqual([
    { seq: 1, at: 1000, replica: 'm#0', stream: 'stdout', text: 'hello' },
    { seq: 2, at: 1000, replica: 'm#0', stream: 'stderr', text: 'oh' },
  ])
})

test('a model has the lines of all its replicas in the order they came; a key has its own only', async () => {
  const folder = tempFolder()
  const logs = await openLogs(folder)
  logs.write('m#1', 'stdout', 'first')
  logs.write('m#0', 'stdout', 'second')
  logs.write('other#0', 'stdout', 'not ours')
  logs.write('m#1', 'stdout', 'third')
  for (const life of [logs, await reopened(logs, folder)]) {
    expect((await life.read('m', {})).map(({ replica, text }) => `${replica} ${text}`)).toEqual([
      'm#1 first',
      'm#0 second',
      'm#1 third',
    ])
    expect(await texts(life, 'm#1')).toEqual(['first', 'third'])
  }
})

test('a name that fits nothing has no lines and leaves no trace', async () => {
  const folder = tempFolder()
  const logs = await openLogs(folder)
  writeMany(logs, 'llama#1', 1)
  for (const name of ['llama#0', 'llama#10', 'llam', 'llama#', '#1', '', 'llama#1#0', '../llama']) {
    expect(await logs.read(name, {}), name).toEqual([])
    expect(logs.lastLines(name, 5)).toEqual([])
    logs.close(name)
  }
  await logs.flush()
  expect(logs.entries()).toHaveLength(1)
  expect(readdirSync(folder).filter((file) => file.endsWith('.jsonl'))).toHaveLength(1)
})

test('where a key and a model fit, the key wins', async () => {
  const logs = await openLogs()
  logs.write('a#0#0', 'stdout', 'replica 0 of the model a#0')
  expect(await texts(logs, 'a#0')).toEqual(['replica 0 of the model a#0'])
  logs.write('a#0', 'stdout', 'replica 0 of the model a')
  expect(await texts(logs, 'a#0')).toEqual(['replica 0 of the model a'])
  expect(await texts(logs, 'a')).toEqual(['replica 0 of the model a'])
})

test('without a number the last lines are read, with one the first after it', async () => {
  const folder = tempFolder()
  const logs = await openLogs(folder)
  writeMany(logs, 'm#0', 10)
  for (const life of [logs, await reopened(logs, folder)]) {
    expect(await texts(life, 'm', { limit: 2 })).toEqual(['m#0 9', 'm#0 10'])
    expect(await texts(life, 'm', { limit: 2, after: 3 })).toEqual(['m#0 4', 'm#0 5'])
    expect(await texts(life, 'm', { after: 8 })).toEqual(['m#0 9', 'm#0 10'])
    expect(await texts(life, 'm', { after: 999 })).toEqual([])
  }
})

test('lines are filtered by stream and by text in any case, before they are counted', async () => {
  const logs = await openLogs()
  logs.write('m#0', 'stderr', 'Error: ONE')
  logs.write('m#0', 'stdout', 'error two')
  logs.write('m#0', 'stderr', 'error Three')
  logs.write('m#0', 'stderr', 'fine')
  expect(await texts(logs, 'm', { grep: 'ERROR' })).toEqual(['Error: ONE', 'error two', 'error Three'])
  expect(await texts(logs, 'm', { grep: 'error', stream: 'stderr', limit: 1 })).toEqual(['error Three'])
  expect(await texts(logs, 'm', { grep: 'error', stream: 'stderr', limit: 1, after: 0 })).toEqual(['Error: ONE'])
})

test('1000 lines are kept, in memory, on disk and across both', async () => {
  const folder = tempFolder()
  const first = await openLogs(folder)
  writeMany(first, 'm#0', 2500)
  await first.flush()
  const second = await reopened(first, folder)
  writeMany(second, 'm#0', 300, 2501)
  for (const life of [second, await reopened(second, folder)]) {
    const lines = await life.read('m', { limit: 10_000 })
    expect(lines.map(({ text }) => text)).toEqual(Array.from({ length: 1000 }, (_, i) => `m#0 ${1801 + i}`))
    expect(life.entries()[0]!.replicas).toEqual([
      { key: 'm#0', lines: 1000, first_seq: 1801, last_seq: 2800, last_at: 1000 },
    ])
  }
})

test('the list has one entry a model, with its replicas in order', async () => {
  const logs = await openLogs()
  for (const key of ['b#10', 'b#2', 'a#0', 'a#0#1']) logs.write(key, 'stdout', 'x')
  expect(logs.entries().map(({ model_name, replicas }) => [model_name, ...replicas.map(({ key }) => key)])).toEqual([
    ['a', 'a#0'],
    ['a#0', 'a#0#1'],
    ['b', 'b#2', 'b#10'],
  ])
})

test('the last lines are those of the last run, also of one that has just ended', async () => {
  const logs = await openLogs()
  writeMany(logs, 'm#0', 5)
  logs.close('m#0')
  expect(logs.lastLines('m#0', 2)).toEqual(['m#0 4', 'm#0 5'])
  logs.write('m#0', 'stderr', 'a new run')
  expect(logs.lastLines('m#0', 20)).toEqual(['a new run'])
})

test('what was closed is still read, from disk, and goes on when it is written again', async () => {
  const logs = await openLogs()
  writeMany(logs, 'm#0', 3)
  logs.close('m#0')
  await logs.flush()
  expect(logs.lastLines('m#0', 3)).toEqual([])
  expect(await texts(logs, 'm')).toEqual(['m#0 1', 'm#0 2', 'm#0 3'])
  writeMany(logs, 'm#0', 1, 4)
  expect(await texts(logs, 'm', { after: 1 })).toEqual(['m#0 2', 'm#0 3', 'm#0 4'])
})

test('lines that leave memory while the disk is being read are not missed', async () => {
  const folder = tempFolder()
  const first = await openLogs(folder)
  first.write('m#0', 'stdout', 'old')
  // Takes so long to read that the other log is written and closed meanwhile.
  for (let i = 0; i < 1000; i += 1) first.write('m#1', 'stdout', 'x'.repeat(8000))
  const logs = await reopened(first, folder)
  logs.write('m#0', 'stdout', 'new')
  logs.close('m#0')
  const reading = texts(logs, 'm', { limit: 10_000 })
  await logs.flush()
  expect((await reading).filter((text) => text.length < 10)).toEqual(['old', 'new'])
})

test('a line of more than 8 KiB is cut between characters and says so', async () => {
  const logs = await openLogs()
  const whole = 'x'.repeat(8192)
  logs.write('m#0', 'stdout', whole)
  logs.write('m#0', 'stdout', `${whole}x`)
  logs.write('m#0', 'stdout', '🚢'.repeat(3000))
  logs.write('m#0', 'stdout', 'y'.repeat(50_000_000))
  expect(await texts(logs, 'm')).toEqual([
    whole,
    `${whole} … (cut: longer than 8 KiB)`,
    `${'🚢'.repeat(2048)} … (cut: longer than 8 KiB)`,
    `${'y'.repeat(8192)} … (cut: longer than 8 KiB)`,
  ])
})

test('any name has a log of its own, in files that only we can read', async () => {
  const odd = [
    'a/b',
    'a%2Fb',
    'a b',
    '../../up',
    '..',
    '日本語',
    'e\u0301',
    '\u00e9',
    'nul',
    '\u0000',
    '-',
    '\ud800',
    '\udbff',
  ]
  const names = ['m', 'M', 'm#0', 'x'.repeat(400), `${'x'.repeat(400)}y`, ...odd]
  const folder = tempFolder()
  const logs = await openLogs(folder)
  for (const name of names) logs.write(`${name}#0`, 'stdout', `said by ${name}`)
  const after = await reopened(logs, folder)
  for (const name of names) expect(await texts(after, `${name}#0`)).toEqual([`said by ${name}`])
  const files = readdirSync(folder, { recursive: true }) as string[]
  expect(files.toSorted()).toEqual(files.filter((file) => /^[a-z0-9.-]{6,120}$/.test(file)).toSorted())
  expect(files).toHaveLength(names.length + 1)
  expect(new Set(files.map((file) => statSync(join(folder, file)).mode & 0o777))).toEqual(new Set([0o600]))
})

test('any text comes back as it was, from memory and from disk', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ key: fc.string({ unit: 'binary', minLength: 1 }), text: fc.string({ unit: 'binary' }) }), {
        minLength: 1,
      }),
      async (written) => {
        const folder = tempFolder()
        const logs = await openLogs(folder)
        for (const { key, text } of written) logs.write(`${key}#7`, 'stdout', text)
        for (const life of [logs, await reopened(logs, folder)]) {
          for (const { key } of written) {
            expect(await texts(life, `${key}#7`)).toEqual(written.filter((w) => w.key === key).map(({ text }) => text))
          }
        }
      },
    ),
    { numRuns: 15 },
  )
})

test('after the end nothing is taken any more', async () => {
  const logs = await openLogs()
  await logs.dispose()
  logs.write('m#0', 'stdout', 'too late')
  expect(logs.entries()).toEqual([])
})
