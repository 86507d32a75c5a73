import { z } from 'zod'
import type { Label, LabelSource } from '../../core/nodes/labels.ts'
import type { Sql } from '../sql.ts'
import { queryAmong, type Among } from '../query-among.ts'

const labelRow = z.object({
  node_id: z.string(),
  key: z.string(),
  value: z.string(),
  source: z.enum(['admin', 'worker', 'auto']),
})
const labelRows = labelRow.array()

/** By node; of these nodes, when some are named. */
export async function listLabels(sql: Sql, nodeIds?: Among): Promise<Map<string, Label[]>> {
  const found = await queryAmong(sql, 'node_id', nodeIds, (where) => `select * from node_labels ${where}`)
  const rows = labelRows.parse(found)
  return Map.groupBy(rows, (row) => row.node_id)
}

export async function listLabelsOfNode(sql: Sql, nodeId: string): Promise<Label[]> {
  return labelRows.parse(await sql.query('select * from node_labels where node_id = $1', [nodeId]))
}

/** Adds the label, or changes its value. */
export async function setLabel(tx: Sql, nodeId: string, { key, value, source }: Label): Promise<void> {
  await tx.query(
    `insert into node_labels (node_id, key, source, value) values ($1, $2, $3, $4)
     on conflict (node_id, key, source) do update set value = excluded.value`,
    [nodeId, key, source, value],
  )
}

export async function deleteLabel(tx: Sql, nodeId: string, { key, source }: Omit<Label, 'value'>): Promise<void> {
  await tx.query('delete from node_labels where node_id = $1 and key = $2 and source = $3', [nodeId, key, source])
}

/** Makes the labels of one source exactly these. Returns the keys that changed: none when it was so already. */
export async function replaceLabels(
  tx: Sql,
  nodeId: string,
  source: LabelSource,
  wanted: ReadonlyMap<string, string>,
): Promise<string[]> {
  const labels = await listLabelsOfNode(tx, nodeId)
  const before = new Map(labels.filter((label) => label.source === source).map(({ key, value }) => [key, value]))
  const gone = [...before.keys()].filter((key) => !wanted.has(key))
  const changed = [...wanted].filter(([key, value]) => before.get(key) !== value)
  for (const key of gone) await deleteLabel(tx, nodeId, { key, source })
  for (const [key, value] of changed) await setLabel(tx, nodeId, { key, value, source })
  return [...gone, ...changed.map(([key]) => key)]
}
