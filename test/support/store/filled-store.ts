import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Database } from '../../../src/store/sql.ts'
import type { Migration } from '../../../src/store/migrate/migration-files.ts'

const ODD = 'a "quoted" name, a\nline; größer als 😀 -- no comment'

/** At least one row in every table, with what is hard to copy: long tables, odd texts, large numbers, nothing at all. */
export function fillStore(db: Database): Promise<void> {
  return db.transaction(async (tx) => {
    for (const [id, name] of [
      ['n1', 'thor'],
      ['n2', ODD],
    ] as const) {
      await tx.query(
        `insert into nodes (id, name, public_key, node_type, address, version, approved_at, boot_id, heartbeat_seq, total_ram,
           liveness_since, registered_at) values ($1, $2, $1, 'backend', 'a:1', '1', 5, 'boot', $3, null, 1, 1)`,
        [id, name, Number.MAX_SAFE_INTEGER],
      )
      await tx.query(`insert into node_labels values ($1, 'zone', 'admin', $2), ($1, 'zone', 'worker', '')`, [id, name])
      await tx.query(
        `insert into models (name, engine, options, revision, created_at, updated_at) values ($1, 'sim', $2, 'r', 1, 2)`,
        [name, JSON.stringify({ text: ODD })],
      )
      await tx.query(
        `insert into replicas (id, node_id, model_name, replica_index, generation, revision, state, created_at, updated_at)
         values ($1, $1, $2, 0, 1794787200000, 'r', 'ready', 1, 2)`,
        [id, name],
      )
    }
    await tx.query(`insert into rules (model_name, min_replicas, updated_at) values ($1, 2, 3)`, [ODD])
    await tx.query(`insert into join_tokens (id, name, token_hash, created_at) values ('t', 'default', 'hash', 1)`)
    await tx.query(
      `insert into api_keys (id, name, key_hash, scopes, created_at) values ('k', 'nb', 'hash', '["inference"]', 1)`,
    )
    await tx.query(`insert into removed_nodes values ('n0', 'U0', 'gone', 1)`)
    await tx.query(`insert into cluster_facts values ('cluster_secret', 'flc_secret')`)
    await tx.query(
      `insert into model_facts (model_name, revision, payload_bytes, read_at) values ('thor', 'r', 17179869184, 1)`,
    )
    await tx.query(`insert into learned_memory values ('thor', 'r', '1', 'gpu', 1, 2, 'measured', 3)`)
    await tx.query(
      `insert into model_load_info (model_name, engine, options, revision, node_name, load_ms, loaded_at)
       values ('thor', 'sim', '{}', 'r', 'thor', 1, 2)`,
    )
    await tx.query(
      `insert into events (id, at, actor, action, reason)
       with recursive n (i) as (select 1 union all select i + 1 from n where i < 1201)
       select i, 1794787200000, 'admin', 'test.made', 'row ' || i from n`,
    )
    await tx.query(`insert into frontends values ('f', 'hash', 1)`)
    await tx.query(`insert into sessions values ('s', 'h', 'admin', null, 1, 1)`)
    await tx.query(`insert into demands values ('thor', 1, 2)`)
  })
}

/** A folder with some of the program's migrations: a store as an older program would make it. */
export function writeMigrations(folder: string, migrations: readonly Migration[]): string {
  const path = join(folder, 'migrations')
  mkdirSync(path)
  for (const { name, text } of migrations) writeFileSync(join(path, name), text)
  return path
}
