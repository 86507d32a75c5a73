import { randomUUID } from 'node:crypto'
import { chmodSync, closeSync, existsSync, linkSync, openSync, rmSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { parentPort } from 'node:worker_threads'
import { SqliteStatements } from './sqlite-statements.ts'

// The only code in the database thread. It imports nothing but node:* and the statements, so that the thread stays small and starts fast.

export type Command =
  | { op: 'open'; file: string; busyTimeoutMs: number; maxRows: number }
  | { op: 'copy'; to: string }
  | { op: 'read' | 'query'; text: string; params: readonly (string | number | null)[] }
  | { op: 'script'; text: string }
  | { op: 'begin' | 'commit' | 'rollback' | 'hold' | 'release' | 'close' }

export interface Failure {
  message: string
  /** Node's code, such as ERR_SQLITE_ERROR. */
  code: string | undefined
  /** SQLite's extended result code. */
  errcode: number | undefined
}

export type Reply = { id: number; rows: unknown[] } | { id: number; failure: Failure }

class Connection {
  readonly db: DatabaseSync
  readonly #statements: SqliteStatements

  constructor(file: string, options: { readOnly: boolean; timeout: number }) {
    this.db = new DatabaseSync(file, { ...options, enableForeignKeyConstraints: true })
    // A bigint, because a number would become a floating point value in SQL.
    this.db.function('now_ms', { deterministic: false }, () => BigInt(Date.now()))
    this.#statements = new SqliteStatements(this.db, maxRows)
  }

  run(text: string, params: readonly (string | number | null)[]): unknown[] {
    return this.#statements.run(text, params)
  }
}

let maxRows = 0
let writer: Connection
let reader: Connection

function run(command: Command): unknown[] {
  switch (command.op) {
    case 'open':
      maxRows = command.maxRows
      open(command.file, command.busyTimeoutMs)
      return []
    case 'read':
      return reader.run(command.text, command.params)
    case 'query':
      return writer.run(command.text, command.params)
    case 'script':
      writer.db.exec(command.text)
      return []
    case 'begin':
      writer.db.exec('begin immediate')
      return []
    case 'commit':
      writer.db.exec('commit')
      return []
    case 'rollback':
      // SQLite has already rolled back after a full disk, for example.
      if (writer.db.isTransaction) writer.db.exec('rollback')
      return []
    case 'hold':
      reader.db.exec('begin')
      // A snapshot begins with the first read, not with the transaction.
      reader.run('select count(*) as tables from sqlite_master', [])
      return []
    case 'release':
      if (reader.db.isTransaction) reader.db.exec('rollback')
      return []
    case 'copy':
      // Made before SQLite writes to it, so that it is never readable by others.
      closeSync(openSync(command.to, 'wx', 0o600))
      writer.run('vacuum into $1', [command.to])
      return []
    case 'close':
      reader.db.close()
      writer.db.exec('pragma wal_checkpoint(truncate)')
      writer.db.close()
      return []
  }
}

function open(file: string, timeout: number): void {
  if (!existsSync(file)) create(file)
  // A connection of its own: it sees committed states only, and a transaction in progress does not make it wait. The first
  // to look, because one that may write moves the log into the file as it closes, and that may be damaged.
  reader = new Connection(file, { readOnly: true, timeout })
  refuseDamaged(file)
  chmodSync(file, 0o600)
  writer = new Connection(file, { readOnly: false, timeout })
  const mode = writer.run('pragma journal_mode = wal', [])[0] as { journal_mode: string }
  if (mode.journal_mode !== 'wal') throw new Error('this file system does not support write-ahead logging')
  // FULL: a commit that was acknowledged survives the loss of power.
  writer.db.exec('pragma synchronous = full')
}

/** With a first page from the beginning and under another name until then, so that an empty file is never one of ours. */
function create(file: string): void {
  if (existsSync(`${file}-wal`) && statSync(`${file}-wal`).size > 0) {
    throw damaged(`it is gone, and ${file}-wal, which belongs to it, is still there`)
  }
  // A random name: several threads of one process may get here in the same millisecond.
  const temporary = `${file}.${randomUUID()}.new`
  closeSync(openSync(temporary, 'wx', 0o600))
  try {
    const db = new DatabaseSync(temporary)
    db.exec('pragma journal_mode = wal')
    db.close()
    linkSync(temporary, file)
  } catch (error) {
    // Another process was quicker: both use its file.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    rmSync(temporary, { force: true })
  }
}

/** Up to here the contents of every index are compared, too: 20 ms for 10 MB. */
const THOROUGH_UP_TO_BYTES = 256 * 2 ** 20

function refuseDamaged(file: string): void {
  const { size } = statSync(file)
  if (size === 0) throw damaged('it is empty: what was in it is gone')
  const check = size > THOROUGH_UP_TO_BYTES ? 'quick_check' : 'integrity_check'
  const [found] = reader.run(`pragma ${check}(1)`, []) as Record<string, string>[]
  const finding = found?.[check]
  if (finding !== 'ok') throw damaged(String(finding).replace(/^\*\*\* in database main \*\*\*\s*/, ''))
}

const SQLITE_CORRUPT = 11

function damaged(finding: string): Error {
  return Object.assign(new Error(finding), { errcode: SQLITE_CORRUPT })
}

parentPort?.on('message', ({ id, command }: { id: number; command: Command }) => {
  let reply: Reply
  try {
    reply = { id, rows: run(command) }
  } catch (error) {
    const { message, code, errcode } = error as Error & { code?: string; errcode?: number }
    reply = { id, failure: { message, code, errcode } }
  }
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  parentPort?.postMessage(reply)
})
