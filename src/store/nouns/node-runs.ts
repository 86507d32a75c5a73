import { REFUSED_LATELY_MS } from '../../core/nodes/refused-run.ts'
import type { Sql } from '../sql.ts'

/** Written again this often while the run goes on trying. */
const WRITTEN_EVERY_MS = 10_000

/** True when it is another run than the one that was refused last, or when that was long ago. */
export async function recordRefusedRun(
  tx: Sql,
  nodeId: string,
  { run, address }: { run: string; address: string },
): Promise<boolean> {
  const [before] = await tx.query<{ refused_run: string | null; age: number | null }>(
    'select refused_run, (select now_ms()) - refused_at as age from nodes where id = $1',
    [nodeId],
  )
  if (!before) return false
  const isNews = before.refused_run !== run || (before.age ?? Infinity) > REFUSED_LATELY_MS
  if (!isNews && (before.age ?? Infinity) < WRITTEN_EVERY_MS) return false
  await tx.query(
    'update nodes set refused_run = $2, refused_address = $3, refused_at = (select now_ms()) where id = $1',
    [nodeId, run, address],
  )
  return isNews
}
