import type { Clock } from '../../platform/run/clock.ts'
import { AppError } from '../../platform/errors.ts'
import { findApplied } from '../migrate/applied.ts'
import type { Sql } from '../sql.ts'
import type { Driver } from '../driver/driver.ts'
import { migrate } from '../migrate/migrate.ts'
import { schemaAfter, type Table } from '../migrate/schema.ts'
import type { Staged } from './stage.ts'
import { countOf, knownMigrations } from './write-backup.ts'

/** For all of it, which is one transaction. */
const RESTORE_LIMIT_MS = 30 * 60_000

/** Parameters of one statement. The driver looks each up by name: ten times as many took five times as long for each row. */
const MOST_PARAMETERS = 400

export interface RestoreOptions {
  migrations: string
  clock: Clock
  /** Refuse while a frontend leads on this store. */
  refuseRunning: boolean
  /** Called before what is there is replaced. Without it a store with anything in it is refused. */
  keep?: () => Promise<void>
}

/** Puts a backup into a store: all of it, or nothing. */
export async function restoreBackup(driver: Driver, staged: Staged, options: RestoreOptions): Promise<void> {
  const { migrations, clock, keep } = options
  const isNew = ((await findApplied(driver)) ?? []).length === 0
  if (!isNew) {
    const tables = schemaAfter(await knownMigrations(driver, migrations))
    const found = await driver.snapshot(async (sql) => {
      if (options.refuseRunning) await refuseLeader(sql, driver)
      return findRows(sql, tables)
    })
    if (found && !keep) throw notEmpty(driver, found)
    if (found) await keep?.()
  }
  await migrate(driver, migrations, clock)
  await driver.transaction((tx) => replaceAll(tx, driver, staged, options), RESTORE_LIMIT_MS)
}

/** Throws while a frontend leads on this store. */
export async function refuseLeader(sql: Sql, { where }: Driver): Promise<void> {
  const [leader] = await sql.query<{ left: number }>(
    `select expires_at - now_ms() as "left" from leases where name = 'leader' and owner <> '' and expires_at > now_ms()`,
  )
  if (!leader) return
  const how = `Stop every frontend on it (one that was killed counts for another ${Math.ceil(leader.left / 1000)} s)`
  throw new AppError('usage', `A frontend runs on the database ${where}. ${how}, or add --while-running.`)
}

interface Found {
  table: string
  count: number
}

/** The first table with anything in it. */
async function findRows(sql: Sql, tables: readonly Table[]): Promise<Found | undefined> {
  for (const { name } of tables.filter(isReplaced)) {
    const count = await countOf(sql, name)
    if (count > 0) return { table: name, count }
  }
  return undefined
}

function notEmpty({ where }: Driver, { table, count }: Found): AppError {
  const what = `The database ${where} is not empty: there is ${count === 1 ? 'a row' : `${count} rows`} in "${table}"`
  return new AppError('usage', `${what}. Import into a new one, or add --replace, which keeps a backup of this one.`)
}

async function replaceAll(tx: Sql, driver: Driver, staged: Staged, options: RestoreOptions): Promise<void> {
  // Checked again, now for good: in a serializable transaction no other writer can come in between.
  if (options.refuseRunning) await refuseLeader(tx, driver)
  const found = await findRows(tx, staged.tables)
  if (found && !options.keep) throw notEmpty(driver, found)
  for (const { name } of staged.tables.filter(isReplaced).toReversed()) await tx.query(`delete from ${name}`)
  for (const table of staged.tables) {
    const most = Math.floor(MOST_PARAMETERS / table.columns.length)
    for (const rows of staged.rows(table, most)) await tx.query(insertInto(table, rows.length), rows.flat())
  }
  // Fences off a leader that still runs: its decisions were for the old content.
  await tx.query(`update leases set owner = '', expires_at = 0, epoch = epoch + 1`)
}

/** The lease stays, so that its epochs never start again. Other tables that a backup leaves out are emptied. */
function isReplaced({ name }: Table): boolean {
  return name !== 'leases'
}

function insertInto({ name, columns }: Table, rows: number): string {
  const values = Array.from({ length: rows }, (_, row) => {
    const places = columns.map((_, column) => `$${row * columns.length + column + 1}`)
    return `(${places.join(', ')})`
  })
  return `insert into ${name} (${columns.map((column) => column.name).join(', ')}) values ${values.join(', ')}`
}
