import type { BodyBudget, BodyRoom } from '../../http/server/body-budget.ts'
import type { HttpRequest } from '../../http/exchange.ts'
import { originOf } from '../../http/server/request-origin.ts'

export interface ReadLimits {
  /** Above the size of prompts with images and of speech files; a longer body is a mistake or an attack. */
  mostBodyBytes: number
  /** The memory shared by all bodies in this process. */
  bodies: BodyBudget
}

export const MOST_BODY_BYTES = 64 * 1024 * 1024

/**
 * A body up to this length that arrived with its head is not counted: 10,000 connections hold 160 MiB of these at most.
 */
const MOST_UNCOUNTED_BYTES = 16 * 1024

/** Counts the memory of a request's body; undefined for a short one. */
export function roomFor(
  request: HttpRequest,
  keyId: string | null,
  { bodies }: Partial<ReadLimits> = {},
): BodyRoom | undefined {
  const { whole } = request
  if (!bodies || (whole && whole.length <= MOST_UNCOUNTED_BYTES)) return undefined
  return bodies.open(keyId ?? originOf(request))
}
