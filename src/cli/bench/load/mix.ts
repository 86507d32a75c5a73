import type { Range } from './random.ts'

/** What is asked of one model. */
export interface Part {
  model: string
  /** Conversations that begin in a second; a conversation of one turn is a request. */
  ratePerS: number
  /** Tokens of what is asked in a turn, about. */
  prompt: Range
  /** Tokens of the longest answer. */
  answer: Range
  /** Of all requests, those that are streamed, from 0 to 1. */
  streamShare: number
  /** Requests of one conversation, each with all that was said before. */
  turns: Range
  /** Between an answer and the next turn. */
  thinkMs: Range
}

/** All that a run is made from. The same plan makes the same requests at the same times. */
export interface Plan {
  parts: readonly Part[]
  seed: number
  arrivals: 'poisson' | 'constant'
  /** How long conversations begin, warm-up not included. */
  forMs: number
  /** After so many conversations none begins; those of the warm-up do not count. */
  mostConversations: number
  /** The rate grows from nothing to what it shall be within this time. */
  rampMs: number
  /** What is due before is sent and not counted. */
  warmUpMs: number
  mostInFlight: number
  timeoutMs: number
}

/** Limits, far beyond what one program can drive or an engine takes. */
export const MOST = {
  models: 20,
  ratePerS: 20_000,
  tokens: 1_000_000,
  turns: 100,
  thinkMs: 3_600_000,
  forMs: 86_400_000,
  requests: 100_000_000,
  inFlight: 20_000,
} as const
