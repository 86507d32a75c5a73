import { nearNames } from '../../core/lib/near-names.ts'
import { AppError } from '../../platform/errors.ts'

export const SORTS = ['rate', 'busy', 'memory', 'name'] as const

/** By what rows are sorted, and whether the other way around. */
export interface Sort {
  by: (typeof SORTS)[number]
  isTurned: boolean
}

export function readSort(wanted: string | undefined): Sort {
  if (wanted === undefined) return { by: 'rate', isTurned: false }
  const by = SORTS.find((name) => name === wanted)
  if (by) return { by, isTurned: false }
  const [near = 'rate'] = nearNames(wanted, SORTS)
  const text = `--sort: there is no column "${wanted}", only ${SORTS.join(', ')}. Try flotilla top --sort ${near}.`
  throw new AppError('usage', text)
}

/** What a key makes of it; undefined for a key that means nothing. */
export function sortAfter({ by, isTurned }: Sort, key: string): Sort | undefined {
  if (key === 'r') return { by, isTurned: !isTurned }
  if (key === 's') return { by: SORTS[(SORTS.indexOf(by) + 1) % SORTS.length]!, isTurned: false }
  return undefined
}

export interface Sortable {
  name: string
  rate: number
  busy: number
  memory: number
}

/** Most first, names by the alphabet; what is equal stays in the order of names. */
export function sorted<T extends Sortable>(rows: readonly T[], { by, isTurned }: Sort): T[] {
  const order = rows.toSorted((a, b) => (by === 'name' ? 0 : b[by] - a[by]) || (a.name < b.name ? -1 : 1))
  return isTurned ? order.toReversed() : order
}
