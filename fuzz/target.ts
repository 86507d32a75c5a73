import type fc from 'fast-check'
import { AppError } from '../src/platform/errors.ts'

/** One parser of bytes from outside, and how it is tried. */
export interface FuzzTarget {
  /** In the table, and as `--target`. */
  name: string
  /** What it reads and from whom, for the page. */
  reads: string
  /** Of all cases it gets so many times what the others get: less where one case takes long. */
  share?: number
  cases: fc.Arbitrary<Buffer>
  /**
   * Gives the bytes to the parser. It throws when the parser did what none may do: another error than a refusal, or a
   * result that breaks what the parser promises.
   */
  read(bytes: Buffer): void | Promise<void>
}

/** Runs a parser that may refuse: an `AppError`, or what `isRefusal` knows as its own. Anything else is a finding. */
export function mayRefuse<T>(parse: () => T, isRefusal: (error: unknown) => boolean = isTyped): T | undefined {
  try {
    return parse()
  } catch (error) {
    if (isRefusal(error)) return undefined
    throw error
  }
}

/** The same for one that takes its time. */
export async function mayRefuseLater<T>(
  parse: () => Promise<T> | T,
  isRefusal: (error: unknown) => boolean = isTyped,
): Promise<T | undefined> {
  try {
    return await parse()
  } catch (error) {
    if (isRefusal(error)) return undefined
    throw error
  }
}

/** An internal error is our fault, whoever has sent what. */
export function isTyped(error: unknown): boolean {
  return error instanceof AppError && error.code !== 'internal'
}

export function insist(holds: boolean, what: string): void {
  if (!holds) throw new Error(what)
}
