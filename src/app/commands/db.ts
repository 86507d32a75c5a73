import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Invocation } from '../../cli/parse-arguments.ts'
import { exportFromFrontend, frontendWithLostFile } from './export-from-frontend.ts'
import { checkLines, rowLines, storeLines, totalOf } from '../../cli/db/text.ts'
import { counted } from '../../cli/terminal/format.ts'
import { processTerminal, type Terminal } from '../../cli/terminal/terminal.ts'
import type { Config } from '../../cli/config/options.ts'
import { systemClock as clock } from '../../platform/run/clock.ts'
import { openDataFolder } from '../../platform/data-folder.ts'
import { AppError } from '../../platform/errors.ts'
import { newSecret } from '../../platform/secrets.ts'
import { version } from '../../platform/version.ts'
import { writeWhole } from '../../platform/write-whole.ts'
import { describeStore } from '../../store/backup/describe-store.ts'
import { refuseLeader, restoreBackup } from '../../store/backup/restore.ts'
import { stageBackup } from '../../store/backup/stage.ts'
import { writeBackup } from '../../store/backup/write-backup.ts'
import { writeFile } from '../../store/backup/write-file.ts'
import { openDriver, type Target } from '../../store/database.ts'
import { CLUSTER_SECRET, replaceFact } from '../../store/nouns/cluster-facts.ts'
import { LIMIT_MS, type Driver } from '../../store/driver/driver.ts'
import { findMigrations } from '../../store/migrate/migration-files.ts'

interface Job {
  config: Config
  target: Target
  terminal: Terminal
  values: readonly string[]
  own: ReadonlyMap<string, string>
}

/** `flotilla db`: the store itself, without a frontend. */
export function runDb(
  { subcommand, values, own }: Invocation,
  config: Config,
  terminal = processTerminal(),
): Promise<number> {
  const target = config.database_url ? { url: config.database_url } : { file: join(config.data, 'flotilla.db') }
  const job = { config, target, terminal, values, own }
  switch (subcommand?.name ?? 'info') {
    case 'check':
      return check(job)
    case 'export':
      return exportStore(job)
    case 'import':
      return importStore(job)
    case 'rotate-secret':
      return rotateSecret(job)
    default:
      return info(job)
  }
}

async function info({ config, target, terminal }: Job): Promise<number> {
  const store = await withStore(target, (driver) => describeStore(driver, findMigrations()))
  terminal.print(config.json ? JSON.stringify(store, null, 2) : storeLines(store).join('\n'))
  return 0
}

async function check({ config, target, terminal }: Job): Promise<number> {
  const found = await withStore(target, (driver) => describeStore(driver, findMigrations())).catch(asProblem)
  if (config.json) terminal.print(JSON.stringify(found, null, 2))
  else terminal.print('kind' in found ? checkLines(found).join('\n') : found.problems.join('\n'))
  return found.problems.length === 0 ? 0 : 1
}

/** Reports a store that cannot be opened as a problem instead of failing. */
function asProblem(error: unknown): { problems: string[] } {
  if (error instanceof AppError) return { problems: [error.message] }
  throw error
}

async function exportStore({ config, target, terminal, values, own }: Job): Promise<number> {
  const file = values[0] ?? '-'
  if (file === '-' && terminal.screen) {
    throw new AppError('usage', 'flotilla db export: name a file, or send the output into a file or a pipe.')
  }
  const sink = async (text: AsyncIterable<string>): Promise<void> => {
    if (file !== '-') return writeFile(file, text, own.has('overwrite'))
    for await (const part of text) {
      terminal.write(part)
      await terminal.taken?.()
    }
  }
  const cluster = 'file' in target ? frontendWithLostFile(config, target.file) : undefined
  if (cluster)
    terminal.note(
      `The database file is gone: the frontend at ${cluster.url}, which has it open, is asked for all of it.`,
    )
  const header = cluster
    ? await exportFromFrontend(cluster, sink)
    : await withStore(target, (driver) => writeBackup(driver, backupDeps(), sink))
  const all = `${counted(totalOf(header.rows), 'row')} of schema ${header.schema} written`
  if (file === '-') terminal.note(`${all}.`)
  else if (config.json) terminal.print(JSON.stringify({ file: resolve(file), ...header }, null, 2))
  else terminal.print([...rowLines(header.rows), `${all} to ${file}.`].join('\n'))
  terminal.note(`Keep it as you keep a password: it holds the secret of the cluster. ${WHAT_ELSE}`)
  return 0
}

const WHAT_ELSE = 'docs/guide/back-up.md says which files of the data folder to keep with it.'

async function importStore({ config, target, terminal, values, own }: Job): Promise<number> {
  const isForced = own.has('while-running')
  const isFile = 'file' in target
  // On SQLite, holding this lock means that no other process has the file; on PostgreSQL the leader's lease says so.
  const folder = isFile && !isForced ? openDataFolder(config.data) : undefined
  try {
    const staged = await stageBackup(values[0]!, findMigrations())
    try {
      let kept: string | undefined
      await withDriver(target, (driver) => {
        const keep = async (): Promise<void> => {
          kept = await keepBackup(driver, config.data)
          terminal.note(`What was there is now in ${kept}.`)
        }
        const options = { migrations: findMigrations(), clock, refuseRunning: !isFile && !isForced }
        return restoreBackup(driver, staged, own.has('replace') ? { ...options, keep } : options)
      })
      const { rows, schema } = staged.header
      const done = { file: resolve(values[0]!), schema, rows, kept: kept ?? null }
      const all = counted(totalOf(rows), 'row')
      const lines = [...rowLines(rows), `${all} imported. A frontend may start on it now.`]
      terminal.print(config.json ? JSON.stringify(done, null, 2) : lines.join('\n'))
    } finally {
      staged.dispose()
    }
  } finally {
    folder?.dispose()
  }
  return 0
}

/** Only while no frontend runs: a running one would continue with the old secret. */
async function rotateSecret({ config, target, terminal }: Job): Promise<number> {
  const folder = openDataFolder(config.data)
  try {
    const secret = newSecret('flc')
    await withStore(target, (driver) =>
      driver.transaction(async (tx) => {
        await refuseLeader(tx, driver)
        await replaceFact(tx, CLUSTER_SECRET, secret)
      }, LIMIT_MS),
    )
    writeWhole(folder.file('cluster.secret'), `${secret}\n`)
    // The first holds data keys of the old secret, the second a certificate of its CA; gateways fetch both again.
    for (const name of ['routing-table.json', 'data-client.json']) rmSync(folder.file(name), { force: true })
  } finally {
    folder.dispose()
  }
  const text =
    'The secret of the cluster is another one. Start the frontends, and gateways on their own again: nodes take their new\n' +
    'data keys when they next ask for their credentials, within minutes; until then requests to them are refused.'
  terminal.print(config.json ? JSON.stringify({ rotated: true }) : text)
  return 0
}

async function keepBackup(driver: Driver, data: string): Promise<string> {
  mkdirSync(data, { recursive: true, mode: 0o700 })
  const at = new Date(clock.nowMs()).toISOString().replaceAll(/[:.]/g, '-')
  const file = join(data, `before-import-${at}.jsonl.gz`)
  await writeBackup(driver, backupDeps(), (text) => writeFile(file, text, false))
  return file
}

function backupDeps() {
  return { migrations: findMigrations(), program: version, nowMs: clock.nowMs() }
}

/** For a store that must exist. */
async function withStore<T>(target: Target, work: (driver: Driver) => Promise<T>): Promise<T> {
  if ('file' in target && !existsSync(target.file)) {
    const hint = 'Name its data folder with --data, or its PostgreSQL with --database-url'
    throw new AppError('usage', `There is no database ${target.file}. ${hint}.`)
  }
  return withDriver(target, work)
}

async function withDriver<T>(target: Target, work: (driver: Driver) => Promise<T>): Promise<T> {
  const driver = await openDriver(target, { clock })
  try {
    return await work(driver)
  } finally {
    await driver.end()
  }
}
