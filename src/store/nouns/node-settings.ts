import { z } from 'zod'
import type { NodeSettings } from '../../core/declare/types.ts'
import type { Sql } from '../sql.ts'
import { listLabels } from './labels.ts'

const settingsRow = z.object({
  id: z.string(),
  name: z.string(),
  node_type: z.enum(['backend', 'agent']),
  desired: z.enum(['active', 'draining']),
  approved_at: z.number().nullable(),
  liveness: z.enum(['online', 'unreachable', 'offline']),
  max_replicas_per_model: z.number(),
  max_replicas_override: z.number().nullable(),
  vram_budget: z.string().nullable(),
  vram_budget_override: z.string().nullable(),
})

/** What an admin has set on each node and what its worker declares, by name. */
export async function listNodeSettings(sql: Sql): Promise<NodeSettings[]> {
  const columns = Object.keys(settingsRow.shape).join(', ')
  const rows = settingsRow.array().parse(await sql.query(`select ${columns} from nodes order by name`))
  const labels = await listLabels(sql)
  return rows.map((row) => {
    const mine = (labels.get(row.id) ?? []).map(({ key, value, source }) => ({ key, value, source }))
    const set = mine.filter(({ source }) => source === 'admin')
    return {
      id: row.id,
      name: row.name,
      nodeType: row.node_type,
      takesPart: row.approved_at !== null && row.liveness !== 'offline',
      declared: {
        labels: mine.filter(({ source }) => source !== 'admin'),
        slots: row.max_replicas_per_model,
        budget: row.vram_budget,
      },
      overrides: {
        labels: Object.fromEntries(set.map(({ key, value }) => [key, value])),
        slots: row.max_replicas_override,
        budget: row.vram_budget_override,
        isDraining: row.desired === 'draining',
      },
    }
  })
}
