import type { Database, Sql, Value } from '../sql.ts'

export type Row = Record<string, Value>

/** A transaction that may also run a text of several statements: migrations only. */
export interface ScriptSql extends Sql {
  script(text: string): Promise<void>
}

/** What SQLite and PostgreSQL each provide; `guard.ts` makes a Database of it. */
export interface Driver {
  readonly kind: Database['kind']
  /** Run before each migration, inside its transaction: what the portable text relies on, such as now_ms(). */
  readonly prelude: string
  /** Answers one row when the table named by `$1` exists. */
  readonly findTable: string
  /** Answers `table` and `column` for every column that there is. */
  readonly listColumns: string
  /** The file, or host and port of the server: for messages. */
  readonly where: string
  read(text: string, params: readonly Value[]): Promise<Row[]>
  transaction<T>(work: (tx: ScriptSql) => Promise<T>, limitMs: number): Promise<T>
  /**
   * Reads one state of the store, however long it takes and whatever is written meanwhile. Is not tried again: `work` may
   * have told others what it read.
   */
  snapshot<T>(work: (sql: Sql) => Promise<T>): Promise<T>
  /** Writes all of it into another file (0600), where the store is a file. */
  copyTo?(file: string): Promise<void>
  end(): Promise<void>
}

/** The limit of a read and of a transaction, so that no caller waits for ever. */
export const LIMIT_MS = 30_000

/**
 * Of one answer. Ask for more in pages: an answer is held in memory as a whole. A turn reads all replicas in one, so this is
 * also how many a cluster may have: twice what we measure.
 */
export const MAX_ROWS = 200_000
