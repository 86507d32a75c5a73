/** A cap on the VRAM that replicas may use on a node, as written by a person. */
export type Budget = { kind: 'share'; share: number } | { kind: 'bytes'; bytes: number }

const UNITS: Record<string, number> = {
  '': 1,
  b: 1,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  tb: 1e12,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
  tib: 2 ** 40,
}

/** Less than this is a slip, most likely 80 for 80%. */
const LEAST_BYTES = 2 ** 20

export const BUDGET_FORMS =
  'expected a share such as 80%, a size such as 12GB or 12GiB, or a number of bytes, at least 1 MiB'

/** Reads `80%`, `12GB`, `12.5GiB`, `12884901888`. Undefined for anything else, and for nothing at all or more than all. */
export function parseBudget(text: string): Budget | undefined {
  const match = /^(\d+(?:\.\d+)?)\s*(%|[a-z]*)$/i.exec(text.trim())
  if (!match) return undefined
  const [, digits, unit] = match as unknown as [string, string, string]
  const number = Number(digits)
  if (unit === '%') return number > 0 && number <= 100 ? { kind: 'share', share: number / 100 } : undefined
  const factor = UNITS[unit.toLowerCase()]
  if (factor === undefined || (factor === 1 && !Number.isInteger(number))) return undefined
  const bytes = Math.floor(number * factor)
  return bytes >= LEAST_BYTES && Number.isSafeInteger(bytes) ? { kind: 'bytes', bytes } : undefined
}

/** The cap in bytes on a machine with so much VRAM: never more than there is. */
export function budgetBytes(budget: Budget, totalVram: number): number {
  return Math.min(totalVram, budget.kind === 'share' ? Math.floor(totalVram * budget.share) : budget.bytes)
}
