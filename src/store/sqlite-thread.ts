import { chmodSync, closeSync, openSync } from 'node:fs'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { parentPort } from 'node:worker_threads'

// The only code in the database thread. It imports nothing but node:*, so that the thread stays small and starts fast.

export type Command =
  | { op: 'open'; file: string; busyTimeoutMs: number; maxRows: number }
  | { op: 'read' | 'query'; text: string; params: readonly (string | number | null)[] }
  | { op: 'script'; text: string }
  | { op: 'begin' | 'commit' | 'rollback' | 'close' }

export interface Failure {
  message: string
  /** Node's code, such as ERR_SQLITE_ERROR. */
  code: string | undefined
  /** SQLite's extended result code. */
  errcode: number | undefined
}

export type Reply = { id: number; rows: unknown[] } | { id: number; failure: Failure }

/** Statements kept compiled, per connection. The program has fewer texts than this; the limit is for the day it has not. */
const MAX_STATEMENTS = 256

class Connection {
  readonly db: DatabaseSync
  readonly #statements = new Map<string, { statement: StatementSync; placeholders: number }>()

  constructor(file: string, options: { readOnly: boolean; timeout: number }) {
    this.db = new DatabaseSync(file, { ...options, enableForeignKeyConstraints: true })
    // A bigint, because a number would become a floating point value in SQL.
    this.db.function('now_ms', { deterministic: false }, () => BigInt(Date.now()))
  }

  run(text: string, params: readonly (string | number | null)[]): unknown[] {
    const { statement, placeholders } = this.#prepare(text)
    if (placeholders !== params.length) {
      throw new Error(`the statement has ${placeholders} placeholders and ${params.length} parameters`)
    }
    const named: Record<string, string | number | bigint | null> = {}
    for (const [index, value] of params.entries()) {
      named[`$${index + 1}`] = Number.isInteger(value) ? BigInt(value as number) : value
    }
    const rows: unknown[] = []
    try {
      for (const row of statement.iterate(named)) {
        if (rows.length === maxRows) throw new Error(`the answer has more than ${maxRows} rows`)
        rows.push(row)
      }
    } catch (error) {
      // Node would throw the same failure again at its next use, whatever that asks for.
      this.#statements.delete(text)
      throw error
    }
    return rows
  }

  #prepare(text: string): { statement: StatementSync; placeholders: number } {
    let entry = this.#statements.get(text)
    // Taken out and put back at the end: the oldest is always the first.
    if (entry) this.#statements.delete(text)
    else entry = this.#compile(text)
    this.#statements.set(text, entry)
    if (this.#statements.size > MAX_STATEMENTS) this.#statements.delete(this.#statements.keys().next().value!)
    return entry
  }

  #compile(text: string): { statement: StatementSync; placeholders: number } {
    const statement = this.db.prepare(text)
    // SQLite silently ignores what follows the first statement.
    if (/[^\s;]/.test(text.slice(statement.sourceSQL.length))) throw new Error('more than one statement')
    const code = text.replaceAll(/'[^']*'|--[^\n]*/g, '')
    const numbers = [...code.matchAll(/\$(\d+)/g)].map((match) => Number(match[1]))
    return { statement, placeholders: Math.max(0, ...numbers) }
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
      // A full disk, for one, has already undone it.
      if (writer.db.isTransaction) writer.db.exec('rollback')
      return []
    case 'close':
      reader.db.close()
      writer.db.exec('pragma wal_checkpoint(truncate)')
      writer.db.close()
      return []
  }
}

function open(file: string, timeout: number): void {
  // Made before SQLite opens it, so that it is never readable by others; -wal and -shm take their mode from it.
  closeSync(openSync(file, 'a', 0o600))
  chmodSync(file, 0o600)
  writer = new Connection(file, { readOnly: false, timeout })
  const mode = writer.run('pragma journal_mode = wal', [])[0] as { journal_mode: string }
  if (mode.journal_mode !== 'wal') throw new Error('this file system does not support write-ahead logging')
  // FULL: a commit that was acknowledged survives the loss of power.
  writer.db.exec('pragma synchronous = full')
  // A second connection: it sees committed states only, and a transaction in progress does not make it wait.
  reader = new Connection(file, { readOnly: true, timeout })
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
