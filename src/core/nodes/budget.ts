import { parseBytes } from '../lib/bytes.ts'

/** A cap on the VRAM that replicas may use on a node, as written by a person. */
export type Budget = { kind: 'share'; share: number } | { kind: 'bytes'; bytes: number }

/** Less than this is a slip, most likely 80 for 80%. */
const LEAST_BYTES = 2 ** 20

export const BUDGET_FORMS =
  'expected a share such as 80%, a size such as 12GB or 12GiB, or a number of bytes, at least 1 MiB'

/** Reads `80%`, `12GB`, `12.5GiB`, `12884901888`. Undefined for anything else, and for nothing at all or more than all. */
export function parseBudget(text: string): Budget | undefined {
  const share = /^(\d+(?:\.\d+)?)\s*%$/.exec(text.trim())
  if (share) {
    const percent = Number(share[1])
    return percent > 0 && percent <= 100 ? { kind: 'share', share: percent / 100 } : undefined
  }
  const bytes = parseBytes(text)
  return bytes !== undefined && bytes >= LEAST_BYTES ? { kind: 'bytes', bytes } : undefined
}

/** The cap in bytes on a machine with so much VRAM: never more than there is. */
export function budgetBytes(budget: Budget, totalVram: number): number {
  return Math.min(totalVram, budget.kind === 'share' ? Math.floor(totalVram * budget.share) : budget.bytes)
}
