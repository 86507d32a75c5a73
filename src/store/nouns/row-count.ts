import type { Sql } from '../sql.ts'

/** How many there are besides the one of this name, and whether that one is there. */
export async function countOthers(
  sql: Sql,
  table: 'models' | 'rules',
  name: string,
): Promise<{ others: number; isThere: boolean }> {
  const column = table === 'models' ? 'name' : 'model_name'
  const [row] = await sql.query<{ n: number; mine: number }>(
    `select count(*) as n, count(case when ${column} = $1 then 1 end) as mine from ${table}`,
    [name],
  )
  const { n, mine } = row!
  return { others: n - mine, isThere: mine > 0 }
}
