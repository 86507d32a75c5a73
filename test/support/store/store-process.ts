import { openDatabase } from '../../../src/store/database.ts'
import type { Database } from '../../../src/store/sql.ts'
import { findMigrations } from '../../../src/store/migrate/migration-files.ts'
import { acquireLease, checkLease, LeaseLostError, releaseLease } from '../../../src/store/nouns/leases.ts'

// Run by tests as a process of its own: `node store-process.ts <task> <target> <argument> <migrations>`. The tables `hits`
// and `lease_log` are made by the tests that need them.

const [task = '', target = '', argument = '', migrations = findMigrations()] = process.argv.slice(2)
const tasks: Record<string, (db: Database, argument: string) => Promise<void>> = { open, increment, claim, lead, write }
const run = tasks[task]
if (!run) throw new Error(`no task "${task}"`)
const db = await openDatabase(target.startsWith('postgres://') ? { url: target } : { file: target }, { migrations })
await run(db, argument)
await db.close()

async function open(db: Database): Promise<void> {
  const rows = await db.query<{ version: number }>('select version from schema_migrations')
  say(rows.length)
}

/** Adds one to the same row, again and again, four at a time. */
async function increment(db: Database, times: string): Promise<void> {
  const once = (): Promise<void> =>
    db.transaction(async (tx) => {
      const [row] = await tx.query<{ value: number }>('select value from hits')
      await tx.query('update hits set value = $1', [(row?.value ?? 0) + 1])
    })
  for (let done = 0; done < Number(times); done += 4) await Promise.all([once(), once(), once(), once()])
}

/** Takes models that nobody has taken until there are none left, and says which. */
async function claim(db: Database, owner: string): Promise<void> {
  for (;;) {
    const name = await db.transaction(async (tx) => {
      const [free] = await tx.query<{ name: string }>(`select name from models where engine = '' order by name limit 1`)
      if (free) await tx.query('update models set engine = $1 where name = $2', [owner, free.name])
      return free?.name
    })
    if (name === undefined) return
    say(name)
  }
}

/**
 * Leads 15 times. Every other time it lets its lease run out and goes on writing until the next leader has begun, as a
 * process does that was asleep.
 */
async function lead(db: Database, owner: string): Promise<void> {
  for (let turns = 0; turns < 15;) {
    const answer = await acquireLease(db, { name: 'leader', owner, ttlMs: 60_000 })
    if (!('epoch' in answer)) continue
    turns += 1
    const held = { name: 'leader', owner, epoch: answer.epoch }
    const slept = turns % 2 === 0
    if (slept) await db.transaction((tx) => tx.query('update leases set expires_at = 0 where owner = $1', [owner]))
    try {
      for (let writes = 0; writes < (slept ? 10 : 1); writes += 1) {
        await db.transaction(async (tx) => {
          await checkLease(tx, held)
          await tx.query(
            `insert into lease_log (position, owner, epoch)
             values ((select coalesce(max(position), 0) + 1 from lease_log), $1, $2)`,
            [owner, answer.epoch],
          )
        })
      }
    } catch (error) {
      if (!(error instanceof LeaseLostError)) throw error
      say('refused')
    }
    await releaseLease(db, held)
  }
}

/** Writes pairs of rows for ever and names each pair once it is acknowledged. */
async function write(db: Database, prefix: string): Promise<void> {
  const insert = `insert into models (name, engine, revision, created_at, updated_at) values ($1, '', '', 0, 0)`
  for (let i = 0; ; i += 1) {
    const id = `${prefix}-${i}`
    await db.transaction(async (tx) => {
      await tx.query(insert, [`${id}-a`])
      await tx.query(insert, [`${id}-b`])
    })
    say(id)
  }
}

function say(what: string | number): void {
  process.stdout.write(`${what}\n`)
}
