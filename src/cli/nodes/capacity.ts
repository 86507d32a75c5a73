import type { NodeView } from '../../api/admin/schemas.ts'
import { counted, gibOf } from '../terminal/format.ts'

/** A node's limits and where each comes from, in words. */

export function slotsText(node: NodeView): [what: string, source: string] {
  const { max_replicas_per_model: slots, max_replicas_declared: declared } = node
  const source = node.max_replicas_per_model_manually_set
    ? `set by an admin; the worker declares ${declared}`
    : 'as the worker declares'
  return [`${counted(slots, 'replica')} per model`, source]
}

/** Empty when no replica is above the limit. */
export function aboveCapText({ above_cap: count }: NodeView): string[] {
  if (count === 0) return []
  return [`${counted(count, 'replica')} ${count === 1 ? 'runs' : 'run'} above that limit; none is stopped for it`]
}

export function budgetText(node: NodeView): string[] {
  const { vram_budget: budget, vram_budget_bytes: bytes, vram_budget_declared: declared, total_vram: total } = node
  if (budget === null) return ['all VRAM']
  const size = bytes === null || total === 0 ? '' : ` (${gibOf(bytes, total)})`
  const source = node.vram_budget_manually_set
    ? `set by an admin; the worker declares ${declared ?? 'none'}`
    : 'as the worker declares'
  return [`${budget} of VRAM${size}`, source]
}
