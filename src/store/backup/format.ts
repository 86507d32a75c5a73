import { z } from 'zod'

/**
 * A backup is JSON Lines in UTF-8, with gzip around it or not. The first line says what it is, each further line is a row
 * of a table, parents before those that refer to them, and the last line says that it is whole:
 *
 *     {"flotilla":"backup","format":1,"schema":8,"program":"0.1.0","made_at":1794787200000,"store":"sqlite","rows":{"models":1}}
 *     {"table":"models","row":{"name":"sim","engine":"sim", …}}
 *     {"flotilla":"end","rows":1,"sha256":"…"}
 *
 * `sha256` is of every byte before the last line. A row has every column that its table has in that schema.
 */
export const FORMAT = 1

/** Of a line. The longest row there is holds the options of a model or what a rule decided last: a few kilobytes. */
export const MAX_LINE_BYTES = 16 * 2 ** 20

/**
 * Tables that a backup leaves out: frontends, leases, sessions and demands. They describe the processes and people of this
 * minute, which write them again.
 */
export const leftOut: ReadonlySet<string> = new Set(['leases', 'frontends', 'sessions', 'sign_in_codes', 'demands'])

const count = z.number().int().min(0)

export const headerSchema = z.strictObject({
  flotilla: z.literal('backup'),
  format: count,
  schema: count,
  program: z.string().max(100),
  made_at: count,
  store: z.enum(['sqlite', 'postgres']),
  rows: z.record(z.string(), count),
})

export const rowSchema = z.strictObject({
  table: z.string(),
  row: z.record(z.string(), z.union([z.string(), z.number(), z.null()])),
})

export const endSchema = z.strictObject({ flotilla: z.literal('end'), rows: count, sha256: z.string() })

export type BackupHeader = z.infer<typeof headerSchema>
export type BackupRow = z.infer<typeof rowSchema>
