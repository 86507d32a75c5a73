import { AppError } from './errors.ts'

/** Versions of the protocol between frontends and their workers and gateways. */
export interface Spoken {
  oldest: number
  newest: number
}

/**
 * `newest` grows when two programs of different versions could misunderstand each other. `oldest` is that of the
 * previous release, so that a cluster can be updated process by process, in any order; an older process must be updated
 * first.
 */
export const SPOKEN: Spoken = { oldest: 2, newest: 3 }

/** A frontend's refusal of a peer whose version it does not speak; its details say which versions it does speak. */
export function refuseProtocol(who: 'worker' | 'gateway', said: number, mine: Spoken): AppError {
  const ours = mine.oldest === mine.newest ? String(mine.newest) : `${mine.oldest} to ${mine.newest}`
  const older = said < mine.oldest ? who : 'frontend'
  const message = `The ${who} speaks protocol ${said}, this frontend ${ours}. Update the ${older}.`
  return new AppError('bad_request', message, { details: { speaks: mine } })
}

/** Asks in the newest version that both sides speak, which only a refusal reveals. */
export async function askInCommon<T>(ask: (protocol: number) => Promise<T>, mine: Spoken = SPOKEN): Promise<T> {
  try {
    return await ask(mine.newest)
  } catch (error) {
    const common = commonTo(mine, spokenBy(error))
    if (common === undefined) throw error
    return ask(common)
  }
}

function spokenBy(error: unknown): Spoken | undefined {
  const said = error instanceof AppError ? (error.details['speaks'] as Partial<Spoken> | undefined) : undefined
  const { oldest, newest } = said ?? {}
  return Number.isInteger(oldest) && Number.isInteger(newest) ? { oldest: oldest!, newest: newest! } : undefined
}

function commonTo(mine: Spoken, theirs: Spoken | undefined): number | undefined {
  if (!theirs || theirs.newest >= mine.newest || theirs.newest < mine.oldest) return undefined
  return theirs.newest
}
