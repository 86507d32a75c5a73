import fc from 'fast-check'
import { shrinkBytes } from './shrink.ts'
import type { FuzzTarget } from './target.ts'

/** A case that should not have ended as it did. */
export interface Finding {
  bytes: Buffer
  why: string
}

/**
 * Tries so many cases, the same ones for the same seed. Returns the first that fails, made as small as can be.
 * `onCase` is told of each before it begins.
 */
export async function tryCases(
  target: FuzzTarget,
  { count, seed, onCase = () => {} }: { count: number; seed: number; onCase?: () => void },
): Promise<Finding | undefined> {
  const before = prototypeNames()
  const judge = async (bytes: Buffer): Promise<void> => {
    await target.read(bytes)
    if (prototypeNames() !== before) throw new Error(`Object.prototype was polluted: ${takeBack(before)}`)
  }
  const property = fc.asyncProperty(target.cases, (bytes) => {
    onCase()
    return judge(bytes)
  })
  const run = await fc.check(property, { numRuns: count, seed })
  if (!run.failed) return undefined
  const { errorInstance: error } = run
  const why = error instanceof Error ? (error.stack ?? error.message) : String(error)
  const found = run.counterexample?.[0] ?? Buffer.alloc(0)
  // Fewer changes do it first, then fewer bytes.
  const fails = (bytes: Buffer): Promise<boolean> =>
    judge(bytes).then(
      () => false,
      () => true,
    )
  return { bytes: await shrinkBytes(found, fails), why }
}

/** Other seeds are to try other cases, in every batch. */
export function seedOfBatch(seed: number, batch: number): number {
  return (seed * 1_000_003 + batch) % 2 ** 31
}

/** The case that a run with this seed begins as its `index`th, counted from 0. */
export function caseAt({ cases }: FuzzTarget, seed: number, index: number): Buffer {
  return fc.sample(cases, { seed, numRuns: index + 1 }).at(-1)!
}

function prototypeNames(): string {
  return [Object.prototype, Array.prototype, String.prototype, Function.prototype]
    .map((prototype) => Object.getOwnPropertyNames(prototype).length)
    .join()
}

/** So that the next case is judged for itself. */
function takeBack(before: string): string {
  const usual = new Set(USUAL_NAMES)
  const added = Object.getOwnPropertyNames(Object.prototype).filter((name) => !usual.has(name))
  for (const name of added) Reflect.deleteProperty(Object.prototype, name)
  return `${added.join(', ') || 'another prototype'} (${before} before)`
}

const USUAL_NAMES = Object.getOwnPropertyNames(Object.prototype)
