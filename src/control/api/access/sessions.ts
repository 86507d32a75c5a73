import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { SessionView, SignInCode } from '../../../api/admin/session-schemas.ts'
import { AppError } from '../../../platform/errors.ts'
import { derivedSecret, hashSecret, newSecret } from '../../../platform/secrets.ts'
import { version } from '../../../platform/version.ts'
import { keepSessionKey } from '../../../store/nouns/api-keys.ts'
import type { Database } from '../../../store/sql.ts'
import {
  deleteSession,
  findSession,
  insertCode,
  insertSession,
  takeCode,
  type Holder,
  type SessionRow,
} from '../../../store/nouns/sessions.ts'
import { addressOf } from '../../changes/actor-context.ts'
import { change } from '../../changes/change.ts'
import type { Answers, Gate } from '../answers.ts'
import { holderOf } from './authorize.ts'
import type { AdminDeps } from '../deps.ts'
import { refuseForgery, refuseOtherOrigins } from './csrf.ts'
import { endedCookie, SESSION_LIFE_MS, sessionCookie, shownSession } from './session-cookie.ts'
import { SignInThrottle } from './sign-in-throttle.ts'

/** The oldest end when there are more. A caller that may make so many may also end them all. */
const MOST_SESSIONS = 1000
const MOST_CODES = 1000
const CODE_LIFE_MS = 10 * 60_000
/** The playground asks for it again. A leader of the release before knows of no other end. */
const INFERENCE_LIFE_MS = 3_600_000

/** A code that signs in once, for a link; only its hash is kept. */
export async function makeSignInCode(db: Database, { actor, keyId }: Holder): Promise<SignInCode> {
  const code = newSecret('flo')
  const made = { hash: hashSecret(code), actor, keyId, lifeMs: CODE_LIFE_MS }
  return { code, expires_at: await db.transaction((tx) => insertCode(tx, made, MOST_CODES)) }
}

export function sessionAnswers(
  deps: AdminDeps,
): Answers<'signIn' | 'showSession' | 'signOut' | 'createInferenceToken' | 'createSignInCode'> {
  /** The identity behind the key. A wrong key is refused with how to get a right one. */
  const byKey = async (key: string): Promise<Holder> => {
    try {
      return await holderOf(key, 'read', deps)
    } catch (error) {
      if (error instanceof AppError && error.code === 'unauthorized') throw new AppError('unauthorized', WRONG_KEY)
      throw error
    }
  }

  const begin = async (request: IncomingMessage, shown: { key: Holder } | { code: string }) => {
    const token = newSecret('fls')
    const fixed = { id: randomUUID(), hash: hashSecret(token), lifeMs: SESSION_LIFE_MS }
    const address = addressOf(request) ?? 'an unknown address'
    const row = await change(deps, async (tx, tell) => {
      const holder = 'key' in shown ? shown.key : await takeCode(tx, hashSecret(shown.code))
      if (!holder) throw new AppError('unauthorized', WRONG_CODE)
      const inserted = await insertSession(tx, { ...fixed, ...holder }, MOST_SESSIONS)
      const reason = `signed in to the dashboard with ${'key' in shown ? 'a key' : 'a link'} from ${address}`
      const data = { session_id: inserted.id, address }
      await tell({ actor: holder.actor, action: 'session.started', reason, data })
      return inserted
    })
    return { token, row }
  }

  return {
    async signIn({ key, code }, _params, { request, answerHeaders }) {
      const shown = key === undefined ? { code: code! } : { key: await byKey(key) }
      const { token, row } = await begin(request, shown)
      answerHeaders['set-cookie'] = sessionCookie(request, token)
      return viewOf(row)
    },

    async showSession(_body, _params, { request }) {
      const token = shownSession(request)
      if (token === undefined) return viewOf(undefined)
      refuseForgery(request)
      return viewOf(await findSession(deps.db, hashSecret(token)))
    },

    async signOut(_body, _params, { request, answerHeaders }) {
      const token = shownSession(request)
      if (token === undefined) return {}
      refuseForgery(request)
      await change(deps, async (tx, tell) => {
        const row = await deleteSession(tx, hashSecret(token))
        if (!row) return
        const data = { session_id: row.id }
        await tell({ actor: row.actor, action: 'session.ended', reason: 'signed out of the dashboard', data })
      })
      answerHeaders['set-cookie'] = endedCookie(request)
      return {}
    },

    async createInferenceToken(_body, _params, { request }) {
      const session = shownSession(request)
      if (session === undefined) return NO_TOKEN
      refuseForgery(request)
      // All pages of a session share one key, so that none ends that of another.
      const token = derivedSecret('fk', session, 'inference')
      return change(deps, async (tx, tell) => {
        const row = await findSession(tx, hashSecret(session))
        if (!row) return NO_TOKEN
        const mayAsk = row.scopes?.some((scope) => scope === 'admin' || scope === 'inference') ?? true
        if (!mayAsk) throw new AppError('forbidden', MAY_NOT_ASK)
        const made = { sessionId: row.id, keyHash: hashSecret(token), lifeMs: INFERENCE_LIFE_MS }
        const expiresAt = await keepSessionKey(tx, made)
        const reason = 'got a key for the playground of the dashboard, for an hour at most'
        await tell({ actor: row.actor, action: 'session.inference', reason, data: { session_id: row.id } })
        return { token, expires_at: expiresAt }
      })
    },

    createSignInCode: (_body, _params, { actor, keyId }) => makeSignInCode(deps.db, { actor, keyId }),
  }
}

/** A sign-in is throttled before its body is read, so that at most ten of one address are read at once. */
export function sessionGates({ clock }: Pick<AdminDeps, 'clock'>): Record<'signIn', Gate> {
  const throttle = new SignInThrottle(clock)
  return {
    signIn(request) {
      refuseOtherOrigins(request)
      const attempt = throttle.enter(request)
      return {
        ended(error) {
          // A wrong key is a guess. A body that is none, or a store that is away, is not.
          if (!(error instanceof AppError && error.code === 'unauthorized')) attempt.forgive()
        },
      }
    },
  }
}

const NO_TOKEN = { token: null, expires_at: null }
const MAY_NOT_ASK = 'Your key may only read: sign in with a key that has the scope inference, too.'

const HOW_TO_GET_A_LINK = 'flotilla dashboard prints a new link on the machine of the frontend'

const WRONG_KEY =
  "This key does not sign in: it is wrong, or it was revoked or has expired. The admin key is in the file admin.key of the frontend's data folder; " +
  `${HOW_TO_GET_A_LINK}.`

const WRONG_CODE = `This link was used before, or is older than ${CODE_LIFE_MS / 60_000} minutes: ${HOW_TO_GET_A_LINK}.`

function viewOf(row: SessionRow | undefined): SessionView {
  const mayChange = row !== undefined && (row.scopes?.includes('admin') ?? true)
  const { actor = null, expires_at = null } = row ?? {}
  return { signed_in: row !== undefined, may_change: mayChange, actor, expires_at, version }
}
