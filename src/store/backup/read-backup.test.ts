import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { AppError } from '../../platform/errors.ts'
import { forFile } from '../../../test/support/at-end.ts'
import { fillStore } from '../../../test/support/store/filled-store.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { failureOf } from '../contract/contract.ts'
import { openDatabase, openDriver } from '../database.ts'
import { findMigrations } from '../migrate/migration-files.ts'
import { stageBackup } from './stage.ts'
import { writeBackup } from './write-backup.ts'
import { writeFile } from './write-file.ts'

const migrations = findMigrations()
let folder: string
let whole: Buffer
let lines: string[]

beforeAll(() =>
  forFile(async () => {
    folder = tempFolder()
    const target = { file: join(folder, 'flotilla.db') }
    const db = await openDatabase(target)
    await fillStore(db)
    // Short, so that a change anywhere in it is tried soon.
    await db.transaction((tx) => tx.query('delete from events where id > 3'))
    await db.close()
    const driver = await openDriver(target)
    const deps = { migrations, program: 'test', nowMs: 1 }
    await writeBackup(driver, deps, (text) => writeFile(join(folder, 'whole.jsonl.gz'), text, false))
    await driver.end()
    whole = gunzipSync(readFileSync(join(folder, 'whole.jsonl.gz')))
    lines = whole.toString().trimEnd().split('\n')
  }),
)

/** The rows that come out of a file, or the failure. */
async function stage(bytes: Buffer | string): Promise<string> {
  const file = join(folder, 'tried.jsonl')
  writeFileSync(file, bytes)
  const staged = await stageBackup(file, migrations)
  const rows = staged.tables.flatMap((table) => [...staged.rows(table, 1000)].map((part) => [table.name, part]))
  staged.dispose()
  return JSON.stringify(rows)
}

/** Whether it is refused in words, or gives what was in it; anything else is told as it is. */
async function outcomeOf(bytes: Buffer | string, expected: string): Promise<string> {
  try {
    return (await stage(bytes)) === expected ? 'the same' : 'something else'
  } catch (error) {
    const isTold = error instanceof AppError && /cannot be used.*Nothing was written/s.test(error.message)
    return isTold ? 'refused' : String(error)
  }
}

test('a whole one is read, packed or not', async () => {
  expect(await stage(gzipSync(whole))).toBe(await stage(whole))
})

test('a bit that was flipped is noticed, packed or not', async () => {
  const expected = await stage(whole)
  const at = fc.record({ place: fc.nat(), bit: fc.integer({ min: 0, max: 7 }), isPacked: fc.boolean() })
  await fc.assert(
    fc.asyncProperty(at, async ({ place, bit, isPacked }) => {
      const bytes = isPacked ? gzipSync(whole) : Buffer.from(whole)
      bytes[place % bytes.length]! ^= 1 << bit
      expect(['refused', 'the same']).toContain(await outcomeOf(bytes, expected))
    }),
    { numRuns: 60 },
  )
})

test('a file that was cut anywhere is refused', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(), fc.boolean(), async (place, isPacked) => {
      const bytes = isPacked ? gzipSync(whole) : whole
      // All but the end of the last line.
      await expect(stage(bytes.subarray(0, place % (bytes.length - 1)))).rejects.toThrow(/cannot be used/)
    }),
    { numRuns: 40 },
  )
})

test('lines that are out of order, missing or there twice are refused', async () => {
  const expected = await stage(whole)
  const two = fc.tuple(fc.nat(), fc.nat(), fc.constantFrom('swap', 'drop', 'repeat'))
  await fc.assert(
    fc.asyncProperty(two, async ([a, b, what]) => {
      const [i, j] = [a % lines.length, b % lines.length]
      const changed = [...lines]
      if (what === 'swap') [changed[i], changed[j]] = [changed[j]!, changed[i]!]
      else if (what === 'drop') changed.splice(i, 1)
      else changed.splice(j, 0, lines[i]!)
      const outcome = await outcomeOf(`${changed.join('\n')}\n`, expected)
      expect(outcome).toBe(changed.join() === lines.join() ? 'the same' : 'refused')
    }),
    { numRuns: 60 },
  )
})

test.each([
  ['a text of something else', () => 'a letter to a friend\n', /line 1: it is not a backup of Flotilla/],
  ['nothing at all', () => '', /has no last line: it was cut off/],
  ['one of a later format', () => headed({ format: 2 }), /has format 2, and this program knows 1: update the program/],
  ['one of a newer program', () => headed({ schema: 999 }), /newer Flotilla \(schema 999, .*update the program/],
  ['one with a table that there is not', () => headed({ rows: { pets: 1 } }), /names "pets", which schema \d+ has not/],
  ['one with a line without end', () => 'x'.repeat(17 * 2 ** 20), /a line is longer than 16777216 bytes/],
])('%s is refused for what it is', async (_what, text, message) => {
  expect((await failureOf(stage(text()))).message).toMatch(message)
})

test.each([
  ['a column that is missing', '"engine":"sim",', '', /models\.engine is missing/],
  ['a column that there is not', '"engine":"sim"', '"engine":"sim","fur":"red"', /"models" has no column "fur"/],
  ['a text for a number', '"created_at":1', '"created_at":"1"', /models\.created_at is not a whole number/],
  ['half a number', '"created_at":1', '"created_at":1.5', /models\.created_at is not a whole number/],
  ['a number for a text', '"engine":"sim"', '"engine":7', /models\.engine is not text/],
  ['nothing where something must be', '"engine":"sim"', '"engine":null', /models\.engine may not be null/],
  ['half a character', '"engine":"sim"', '"engine":"\\ud800"', /models\.engine holds a character/],
  ['a value that the schema does not know', '"origin":"api"', '"origin":"sky"', /models refuses the row: CHECK/],
])('a row with %s is refused by name and line', async (_what, old, changed, message) => {
  const at = lines.findIndex((line) => line.startsWith('{"table":"models"') && line.includes(old))
  const altered = lines.with(at, lines[at]!.replace(old, changed)).join('\n')
  const failure = await failureOf(stage(`${altered}\n`))
  expect(failure.message).toMatch(message)
  expect(failure.message).toContain(`in line ${at + 1}:`)
})

/** A backup whose first line says something else. */
function headed(fields: object): string {
  return [JSON.stringify({ ...JSON.parse(lines[0]!), ...fields }), ...lines.slice(1), ''].join('\n')
}
