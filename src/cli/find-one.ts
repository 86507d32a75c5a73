import { nearNames } from '../core/lib/near-names.ts'
import { AppError } from '../platform/errors.ts'
import { few } from './terminal/format.ts'
import { plain } from './terminal/text-width.ts'

/** An id may be shortened to no less than this: shorter beginnings are rather mistyped names. */
const LEAST_PREFIX = 4

/** The thing that the argument names: by its id, its name or the beginning of its id. */
export function findOne<T extends { id: string; name: string }>(noun: string, wanted: string, all: readonly T[]): T {
  const byId = all.filter(({ id }) => id === wanted)
  const byName = all.filter(({ name }) => name === wanted)
  const byPrefix = wanted.length >= LEAST_PREFIX ? all.filter(({ id }) => id.startsWith(wanted)) : []
  const found = [byId, byName, byPrefix].find((some) => some.length > 0) ?? []
  if (found.length === 1) return found[0]!
  if (found.length > 1) throw ambiguous(noun, wanted, found)
  throw notFound(
    noun,
    wanted,
    all.map(({ name }) => name),
  )
}

/** A thing that is known by its name alone. */
export function findNamed<T extends { name: string }>(noun: string, wanted: string, all: readonly T[]): T {
  const found = all.find(({ name }) => name === wanted)
  if (found) return found
  throw notFound(
    noun,
    wanted,
    all.map(({ name }) => name),
  )
}

function ambiguous(noun: string, wanted: string, found: readonly { id: string; name: string }[]): AppError {
  const told = few(found.map(({ id, name }) => `${plain(name)} (${id})`))
  return new AppError('usage', `"${plain(wanted)}" may mean more than one ${noun}: ${told}. Say which by its id.`)
}

/** There is no such thing, but what there is. */
export function notFound(noun: string, wanted: string, all: readonly string[]): AppError {
  return new AppError('not_found', `There is no ${noun} "${plain(wanted)}". ${hint(noun, wanted, all)}`)
}

function hint(noun: string, wanted: string, all: readonly string[]): string {
  if (all.length === 0) return `There are no ${noun}s at all.`
  const names = [...new Set(all.map(plain))]
  const near = nearNames(wanted, names)
  return near.length > 0 ? `Did you mean ${near.join(' or ')}?` : `There is ${few(names)}.`
}
