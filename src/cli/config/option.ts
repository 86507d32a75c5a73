import type { z } from 'zod'

export interface Option<T> {
  type: z.ZodType<T>
  /** The placeholder for the value in help texts. */
  value: string
  help: string
  /** The default as a user would write it, or `undefined` for none. Computed, because some look at the machine. */
  default: (env: Env) => string | undefined
  /** Commands whose default is another. */
  defaultIn?: Readonly<Record<string, string>>
  /** The flag alone, without a value, means true. */
  switch?: true
  /** Never shown back: the value may hold a password. */
  secret?: true
  /** A variable of another program or of a standard that means the same. */
  alias?: string
  /** Keeps its place: mistakes in the value are found later, and their message names the place. */
  located?: true
}

export type Env = Readonly<Record<string, string | undefined>>
