import type { Sql, Value } from './sql.ts'

/** Not any iterable: text is one, of its letters. */
export type Among = readonly string[] | ReadonlySet<string>

/** Of one statement: far fewer than either store takes. */
const MOST_VALUES = 500

/**
 * All rows, or only those of which a column has one of these values, in as many statements as that takes. `textOf` makes the
 * statement for a condition, which is empty or begins with "where".
 */
export async function queryAmong(
  sql: Sql,
  column: string,
  values: Among | undefined,
  textOf: (where: string) => string,
): Promise<Record<string, Value>[]> {
  if (values === undefined) return sql.query(textOf(''))
  const all = [...values]
  const rows: Record<string, Value>[] = []
  for (let i = 0; i < all.length; i += MOST_VALUES) {
    const some = all.slice(i, i + MOST_VALUES)
    const places = some.map((_, j) => `$${j + 1}`).join(', ')
    rows.push(...(await sql.query(textOf(`where ${column} in (${places})`), some)))
  }
  return rows
}
