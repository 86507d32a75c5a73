import { nearNames } from '../core/lib/near-names.ts'
import { AppError } from '../platform/errors.ts'
import { plain } from './text-width.ts'

/** An id may be shortened to no less than this: shorter beginnings are rather mistyped names. */
const LEAST_PREFIX = 4
/** Names of so many candidates are told, no more. */
const MOST_TOLD = 5

/** The one thing that a person means by its id, its name or the beginning of its id. */
export function findOne<T extends { id: string; name: string }>(noun: string, wanted: string, all: readonly T[]): T {
  const byId = all.filter(({ id }) => id === wanted)
  const byName = all.filter(({ name }) => name === wanted)
  const byPrefix = wanted.length >= LEAST_PREFIX ? all.filter(({ id }) => id.startsWith(wanted)) : []
  const found = [byId, byName, byPrefix].find((some) => some.length > 0) ?? []
  if (found.length === 1) return found[0]!
  if (found.length > 1) throw ambiguous(noun, wanted, found)
  throw new AppError('not_found', `There is no ${noun} "${plain(wanted)}". ${hint(noun, wanted, all)}`)
}

function ambiguous(noun: string, wanted: string, found: readonly { id: string; name: string }[]): AppError {
  const told = found.slice(0, MOST_TOLD).map(({ id, name }) => `${plain(name)} (${id})`)
  const rest = found.length > MOST_TOLD ? ` and ${found.length - MOST_TOLD} more` : ''
  return new AppError('usage', `"${plain(wanted)}" may mean more than one ${noun}: ${told.join(', ')}${rest}.`)
}

function hint(noun: string, wanted: string, all: readonly { name: string }[]): string {
  if (all.length === 0) return `There are no ${noun}s at all.`
  const names = [...new Set(all.map(({ name }) => plain(name)))]
  const near = nearNames(wanted, names)
  if (near.length > 0) return `Did you mean ${near.join(' or ')}?`
  const more = names.length > MOST_TOLD ? ` and ${names.length - MOST_TOLD} more` : ''
  return `There is ${names.slice(0, MOST_TOLD).join(', ')}${more}.`
}
