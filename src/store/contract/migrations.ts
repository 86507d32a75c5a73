import { describe, expect, test } from 'vitest'
import { listRoutedKeys } from '../nouns/api-keys.ts'
import { failureOf, setUpWorkbench, type ContractStore } from './contract.ts'
import { findMigrations, loadMigrations } from '../migrate/migration-files.ts'
import { listModels } from '../nouns/models.ts'
import { listNodes } from '../nouns/nodes.ts'
import { listReplicas } from '../nouns/replicas.ts'
import { listRules } from '../nouns/rules.ts'

const A = 'create table a (id text primary key);\n-- a comment; with a semicolon\ncreate index a_by_id on a (id);'
const B = `create table b (id text primary key, made bigint not null);\ninsert into b values ('first; second', now_ms());`

export function describeMigrations(create: () => Promise<ContractStore>): void {
  describe('migrations', () => {
    const bench = setUpWorkbench(create)
    const applied = 'select version, name from schema_migrations order by version'

    test("the program's own make a store that works, and opening again changes nothing", async () => {
      const first = await bench.open()
      const before = await first.query(
        'select version, name, checksum, applied_at from schema_migrations order by version',
      )
      expect(before[0]).toMatchObject({ version: 1, name: '0001_init.sql' })
      await first.close()
      const second = await bench.open()
      expect(
        await second.query('select version, name, checksum, applied_at from schema_migrations order by version'),
      ).toEqual(before)
      expect(await second.query('select name from nodes')).toEqual([])
    })

    test('a store from before engines were told by heartbeats is taken over with all that is in it', async () => {
      const ours = loadMigrations(findMigrations())
      const before = Object.fromEntries(ours.slice(0, 2).map(({ name, text }) => [name, text]))
      const old = await bench.open({ migrations: bench.migrations(before) })
      await old.transaction(async (tx) => {
        await tx.query(`insert into nodes (id, name, public_key, node_type, address, version, boot_id, engines, liveness_since,
            registered_at) values ('n1', 'thor', 'U1', 'backend', 'thor:1', '1', 'boot1', '["sim"]', 1, 1)`)
        await tx.query(
          `insert into models (name, engine, revision, created_at, updated_at) values ('m', 'sim', 'r1', 1, 1)`,
        )
        await tx.query(`insert into replicas (id, node_id, model_name, replica_index, generation, revision, state, created_at,
            updated_at) values ('a', 'n1', 'm', 0, 1, 'r1', 'ready', 1, 1)`)
      })
      await old.close()
      const db = await bench.open()
      expect(await listNodes(db)).toMatchObject([{ id: 'n1', name: 'thor', engines: [] }])
      expect(await listModels(db)).toMatchObject([{ name: 'm', source: null, revision: 'r1' }])
      expect(await listReplicas(db)).toMatchObject([{ id: 'a', state: 'ready', progress: null, lastExit: null }])
    })

    test('rules from before there were selectors and policies take any node, and the least loaded replica', async () => {
      const ours = loadMigrations(findMigrations())
      const before = Object.fromEntries(ours.slice(0, 3).map(({ name, text }) => [name, text]))
      const old = await bench.open({ migrations: bench.migrations(before) })
      await old.transaction((tx) =>
        tx.query(`insert into rules (model_name, min_replicas, max_replicas, updated_at) values ('m', 1, 2, 3)`),
      )
      await old.close()
      const db = await bench.open()
      const plain = { model_name: 'm', min_replicas: 1, max_replicas: 2, updated_at: 3 }
      const unasked = { spread_all: false, scale_to_zero_after_s: null, source: 'api' }
      const untried = { unsatisfiable_until: null, unsatisfiable_ticks: 0, last_decision: null }
      expect(await listRules(db)).toEqual([
        { ...plain, ...unasked, ...untried, node_selector: {}, route_policy: 'least_loaded' },
      ])
      expect(await listRoutedKeys(db)).toEqual([])
    })

    test('only what is missing is applied, in order', async () => {
      await (await bench.open({ migrations: bench.migrations({ '0001_a.sql': A }) })).close()
      const db = await bench.open({ migrations: bench.migrations({ '0001_a.sql': A, '0002_b.sql': B }) })
      expect(await db.query(applied)).toEqual([
        { version: 1, name: '0001_a.sql' },
        { version: 2, name: '0002_b.sql' },
      ])
      expect(await db.query('select id from b')).toEqual([{ id: 'first; second' }])
    })

    test('line ends do not count as an edit', async () => {
      await (await bench.open({ migrations: bench.migrations({ '0001_a.sql': A }) })).close()
      const db = await bench.open({ migrations: bench.migrations({ '0001_a.sql': A.replaceAll('\n', '\r\n') }) })
      expect(await db.query(applied)).toHaveLength(1)
    })

    test('an applied migration that was edited is refused by name', async () => {
      await (await bench.open({ migrations: bench.migrations({ '0001_a.sql': A }) })).close()
      const failure = await failureOf(bench.open({ migrations: bench.migrations({ '0001_a.sql': `${A} ` }) }))
      expect(failure.message).toMatch(/0001_a\.sql was edited/)
    })

    test.each([
      ['missing', { '0001_a.sql': A, '0003_b.sql': B }, /0002_….sql is missing.*0003_b\.sql/],
      ['there twice', { '0001_a.sql': A, '0001_b.sql': B }, /0002_….sql is missing.*0001_b\.sql/],
      ['misnamed', { '0001_a.sql': A, 'second.sql': B }, /0002_….sql is missing.*second\.sql/],
    ])('a migration that is %s is refused before anything is applied', async (_what, files, message) => {
      expect((await failureOf(bench.open({ migrations: bench.migrations(files) }))).message).toMatch(message)
      const db = await bench.open({ migrations: bench.migrations({ '0001_a.sql': A }) })
      expect(await db.query(applied)).toEqual([{ version: 1, name: '0001_a.sql' }])
    })

    test('a gap in the database is refused by name', async () => {
      const migrations = bench.migrations({ '0001_a.sql': A, '0002_b.sql': B })
      const db = await bench.open({ migrations })
      await db.transaction((tx) => tx.query('delete from schema_migrations where version = 1'))
      await db.close()
      expect((await failureOf(bench.open({ migrations }))).message).toMatch(/has migration 0002_b\.sql but not 0001_a/)
    })

    test('a database of a newer program is refused with what to do', async () => {
      const db = await bench.open({ migrations: bench.migrations({ '0001_a.sql': A, '0002_b.sql': B }) })
      await db.close()
      const failure = await failureOf(bench.open({ migrations: bench.migrations({ '0001_a.sql': A }) }))
      expect(failure.message).toContain(
        'written by a newer Flotilla (schema 2, this program knows 1): update the program',
      )
    })

    const ADDS = 'alter table models add column colour text;\ncreate table colours (name text primary key);'
    const ours = loadMigrations(findMigrations()).length
    const worksFrom = (version: number, text: string) => `-- works from: ${fourDigits(version)}\n${text}`
    const nextRelease = (...added: string[]) => {
      const known = loadMigrations(findMigrations()).map(({ name, text }) => [name, text] as const)
      const theirs = added.map((text, i) => [`${fourDigits(ours + 1 + i)}_next.sql`, text] as const)
      return bench.migrations(Object.fromEntries([...known, ...theirs]))
    }

    test('a store to which the next release has only added is worked on as before', async () => {
      const newer = await bench.open({ migrations: nextRelease(worksFrom(ours, ADDS)) })
      const older = await bench.open()
      await older.transaction((tx) =>
        tx.query(`insert into models (name, engine, revision, created_at, updated_at) values ('m', 'sim', 'r', 1, 1)`),
      )
      expect(await listModels(older)).toMatchObject([{ name: 'm', origin: 'api' }])
      expect(await newer.query('select name, colour from models')).toEqual([{ name: 'm', colour: null }])
      const written = await older.query('select version, works_from from schema_migrations order by version')
      expect(written.at(-1)).toEqual({ version: ours + 1, works_from: ours })
    })

    test.each([
      ['the next release has taken something away from', [worksFrom(ours + 1, ADDS)]],
      ['the next release says nothing about', [ADDS]],
      ['the release after the next has worked on', [worksFrom(ours, ADDS), worksFrom(ours + 1, 'select 1;')]],
    ])('a store that %s is refused', async (_, added) => {
      await (await bench.open({ migrations: nextRelease(...added) })).close()
      expect((await failureOf(bench.open())).message).toContain('written by a newer Flotilla')
    })

    test("each of the program's own says which programs may go on beside it", () => {
      for (const { name, version, worksFrom } of loadMigrations(findMigrations()).slice(9)) {
        expect(worksFrom, `${name} begins with "-- works from: NNNN"`).toBeTypeOf('number')
        expect(worksFrom).toBeLessThanOrEqual(version)
      }
    })

    test('a migration that fails leaves nothing, says which, and can be mended', async () => {
      const broken = `${B}\ninsert into b values ('first; second', 1);`
      const failure = await failureOf(
        bench.open({ migrations: bench.migrations({ '0001_a.sql': A, '0002_b.sql': broken }) }),
      )
      expect(failure.message).toMatch(/0002_b\.sql failed and was undone/)
      const before = await bench.open({ migrations: bench.migrations({ '0001_a.sql': A }) })
      expect(await before.query(applied)).toEqual([{ version: 1, name: '0001_a.sql' }])
      await expect(before.query('select id from b')).rejects.toThrow(/\bb\b/)
      await before.close()
      const mended = await bench.open({ migrations: bench.migrations({ '0001_a.sql': A, '0002_b.sql': B }) })
      expect(await mended.query(applied)).toHaveLength(2)
    })

    test('when the last of several fails, the store is as it was, for the program before as well', async () => {
      const before = bench.migrations({ '0001_a.sql': A })
      await (await bench.open({ migrations: before })).close()
      const after = { '0001_a.sql': A, '0002_b.sql': B, '0003_c.sql': 'create table c (id text);\ndrop table nothing;' }
      const failure = await failureOf(bench.open({ migrations: bench.migrations(after) }))
      expect(failure.message).toMatch(
        /0003_c\.sql failed and was undone: .*nothing.*as it was: go back to the Flotilla before/s,
      )
      const db = await bench.open({ migrations: before })
      expect(await db.query(applied)).toEqual([{ version: 1, name: '0001_a.sql' }])
      await expect(db.query('select id from b')).rejects.toThrow(/\bb\b/)
    })

    test('a store that lacks a table or a column is refused with what is missing and the way back', async () => {
      const db = await bench.open()
      await db.transaction(async (tx) => {
        await tx.query('alter table models drop column source')
        await tx.query('drop table rules')
      })
      await db.close()
      const failure = await failureOf(bench.open())
      expect(failure).toMatchObject({ code: 'usage' })
      expect(failure.message).toMatch(
        /lacks models\.source, rules: .*Nothing was changed\. The way back: .*flotilla db import/,
      )
    })

    test('a store that has forgotten its migrations is refused instead of made anew', async () => {
      const db = await bench.open()
      await db.transaction((tx) => tx.query('drop table schema_migrations'))
      await db.close()
      expect((await failureOf(bench.open())).message).toMatch(/has leases, nodes.* but not schema_migrations/)
    })

    test('several that open an empty store at once migrate it once', async () => {
      const migrations = bench.migrations({ '0001_a.sql': A, '0002_b.sql': B })
      const handles = await Promise.all(Array.from({ length: 5 }, () => bench.open({ migrations })))
      for (const db of handles) expect(await db.query('select id from b')).toEqual([{ id: 'first; second' }])
    })
  })
}

function fourDigits(version: number): string {
  return String(version).padStart(4, '0')
}
