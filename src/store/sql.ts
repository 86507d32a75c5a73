/** What a column holds and a parameter may be: text, a number (bigint columns too), or null. Flags are 0 and 1. */
export type Value = string | number | null

export interface Sql {
  /**
   * One statement with `$1` placeholders, in both dialects. Rows are plain objects; a change answers with the rows of
   * its `returning`. Whole numbers must be safe integers, in both directions. The first statement that fails ends its
   * transaction, even if the failure is caught.
   */
  query<T = Record<string, Value>>(text: string, params?: readonly Value[]): Promise<T[]>
}

export interface Database extends Sql {
  readonly kind: 'sqlite' | 'postgres'
  /** One statement outside a transaction: a snapshot, never waits for a writer. Writing here is refused. */
  query<T = Record<string, Value>>(text: string, params?: readonly Value[]): Promise<T[]>
  /**
   * Serializable. `work` may run several times: it must have no effect outside `tx`. It runs at most 30 s, and its
   * statements run one after the other. `unavailable` may mean that the commit's answer was lost: look before repeating.
   */
  transaction<T>(work: (tx: Sql) => Promise<T>): Promise<T>
  /** Writes all of it into another file (0600), where the store is a file. */
  copyTo?: ((file: string) => Promise<void>) | undefined
  /** Finishes what was asked for before, refuses what is asked for after. */
  close(): Promise<void>
}
