import { AppError } from '../../platform/errors.ts'
import type { Client } from '../client.ts'

export interface Question {
  command: string
  /** The action, as in `add --yes to …`. */
  deed: string
  /** What to know before answering. */
  about: string
  question: string
  /** Printed after a no. */
  otherwise: string
}

/** Asks before an irreversible action; `--yes` answers beforehand, and is required without a terminal. */
export async function confirm(
  { terminal }: Client,
  own: ReadonlyMap<string, string>,
  asked: Question,
): Promise<boolean> {
  if (own.has('yes')) return true
  if (!terminal.interactive) {
    const text = `flotilla ${asked.command}: not a terminal: add --yes to ${asked.deed}.`
    throw new AppError('usage', text)
  }
  terminal.note(asked.about)
  const answer = await terminal.ask(`${asked.question} [y/N] `)
  if (/^y(es)?$/i.test(answer.trim())) return true
  terminal.note(asked.otherwise)
  return false
}
