import { AppError } from '../src/platform/errors.ts'
import { spoiled } from './spoil.ts'
import { mayRefuse, type FuzzTarget } from './target.ts'

const cases = spoiled(['a', 'ab!c', 'x!'])
const reads = 'what shows that the harness sees it'
const isPlanted = (bytes: Buffer): boolean => bytes.includes('!')

/** Faults that the harness must see. */
export const plantedTargets: readonly FuzzTarget[] = [
  { name: 'plain', reads, cases, read: () => mayRefuse(refuse) },
  {
    name: 'throws',
    reads,
    cases,
    read(bytes) {
      if (isPlanted(bytes)) throw new TypeError('planted')
    },
  },
  {
    name: 'hangs',
    reads,
    cases,
    read(bytes) {
      while (isPlanted(bytes));
    },
  },
  {
    name: 'never answers',
    reads,
    cases,
    async read(bytes) {
      if (isPlanted(bytes)) await new Promise(() => {})
    },
  },
  {
    name: 'devours',
    reads,
    cases,
    read(bytes) {
      const held: unknown[] = []
      while (isPlanted(bytes)) held.push({ held: [held.length, held.length] })
    },
  },
  {
    name: 'pollutes',
    reads,
    cases,
    read(bytes) {
      const key = '__proto__'
      if (isPlanted(bytes)) Object.assign(({} as Record<string, object>)[key]!, { polluted: true })
    },
  },
]

/** As threads find targets. */
export const fuzzTargets = plantedTargets

function refuse(): never {
  throw new AppError('bad_request', 'no')
}
