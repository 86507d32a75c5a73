import { AppError } from './errors.ts'

/** Versions of what workers and gateways say to a frontend, and it to them. */
export interface Spoken {
  oldest: number
  newest: number
}

/**
 * `newest` grows when two programs of different versions could misunderstand each other. `oldest` is that of the release
 * before, so that a cluster is updated process by process, in any order; what is older has to be updated first.
 */
export const SPOKEN: Spoken = { oldest: 2, newest: 3 }

/** What a frontend says to somebody whose version it does not speak; from the details he sees whether there is another. */
export function refuseProtocol(who: 'worker' | 'gateway', said: number, mine: Spoken): AppError {
  const ours = mine.oldest === mine.newest ? String(mine.newest) : `${mine.oldest} to ${mine.newest}`
  const older = said < mine.oldest ? who : 'frontend'
  const message = `The ${who} speaks protocol ${said}, this frontend ${ours}. Update the ${older}.`
  return new AppError('bad_request', message, { details: { speaks: mine } })
}

/** Asks in the newest version that both sides speak, which only a refusal tells. */
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
