import { gatewayCredentials, type GatewayCredentials } from '../../api/admin/schemas.ts'
import { askInCommon } from '../../platform/peer-versions.ts'
import { backoff, holdConnection, newContact, type HoldDeps } from '../../bus/hold-connection.ts'
import { isLastWord, StrangersError, type AnyFrontend } from '../../http/client/any-frontend.ts'
import { sleep, type Clock } from '../../platform/run/clock.ts'
import { AppError, messageOf } from '../../platform/errors.ts'
import type { Logger } from '../../platform/run/log.ts'

export interface AdmissionDeps {
  /** Asks for credentials for the bus. */
  ask: () => Promise<GatewayCredentials>
  /** The connection to the bus. */
  link: HoldDeps['link'] & { use(gatewayId: string, credentials: GatewayCredentials): Promise<void> }
  /** Whether the gateway already has a routing table to serve from. */
  hasTable: () => boolean
  clock: Clock
  random: () => number
  log: Logger
}

/**
 * Gets a gateway onto the bus and keeps it there until `signal` is aborted. Rejects only before the gateway was admitted or
 * has a table, with an error that its operator must correct. After that it keeps serving, whatever a frontend answers.
 */
export async function stayAdmitted(deps: AdmissionDeps, signal: AbortSignal): Promise<void> {
  const contact = newContact()
  let isAdmitted = false
  let told: string | undefined
  for (let tries = 0; !signal.aborted;) {
    try {
      const credentials = await deps.ask()
      if (told !== undefined) deps.log.info('a frontend answers again')
      isAdmitted = true
      told = undefined
      tries = 0
      const use = (): Promise<void> => deps.link.use(credentials.gateway_id, credentials)
      await holdConnection({ ...deps, use, jwt: credentials.bus_jwt }, contact, signal)
    } catch (error) {
      if (!isAdmitted && !deps.hasTable() && isMistake(error)) throw asMistake(error)
      const message = messageOf(error)
      if (message !== told) deps.log.warn({ error: message }, 'cannot get credentials for the bus; trying again')
      told = message
      await sleep(deps.clock, backoff(deps, tries++), signal)
    }
  }
}

/** Asks any of the frontends, with a key for the admin API. */
export function askFrontends(any: AnyFrontend, key: string, publicKey: string): () => Promise<GatewayCredentials> {
  const post = (protocol: number): Promise<unknown> =>
    any.post('/api/gateways/credentials', { body: { protocol, public_key: publicKey }, token: key })
  return async () => {
    const answer = gatewayCredentials.safeParse(await askInCommon(post))
    if (answer.success) return answer.data
    throw new StrangersError('The answer holds no credentials for the bus.')
  }
}

function isMistake(error: unknown): error is AppError {
  return isLastWord(error) || error instanceof StrangersError
}

function asMistake(error: AppError): AppError {
  if (error instanceof StrangersError) {
    return new AppError('usage', `${error.message} Name a frontend of the cluster with --url.`, { cause: error })
  }
  const hint = error.code === 'unauthorized' ? ` ${WHERE_THE_KEY_IS}` : ''
  return new AppError('usage', `The frontend does not admit this gateway: ${error.message}${hint}`, { cause: error })
}

const WHERE_THE_KEY_IS =
  "Give the admin key with FLOTILLA_KEY or --key: it is in the file admin.key of the frontend's data folder."
