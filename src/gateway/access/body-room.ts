import type { BodyBudget, BodyRoom } from '../../http/server/body-budget.ts'
import type { HttpRequest } from '../../http/exchange.ts'
import { originOf } from '../../http/server/request-origin.ts'

export interface ReadLimits {
  /** Prompts with images and files with speech are long; what is longer is a mistake or an attack. */
  mostBodyBytes: number
  /** The memory that all bodies in this process share. */
  bodies: BodyBudget
}

export const MOST_BODY_BYTES = 64 * 1024 * 1024

/**
 * A body up to this length that has come with its head is not counted: with 10,000 connections, these are 160 MiB at most.
 */
const MOST_UNCOUNTED_BYTES = 16 * 1024

/** Where the body of a request counts; undefined when it is short. */
export function roomFor(
  request: HttpRequest,
  keyId: string | null,
  { bodies }: Partial<ReadLimits> = {},
): BodyRoom | undefined {
  const { whole } = request
  if (!bodies || (whole && whole.length <= MOST_UNCOUNTED_BYTES)) return undefined
  return bodies.open(keyId ?? originOf(request))
}
