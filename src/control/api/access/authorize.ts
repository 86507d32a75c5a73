import type { IncomingMessage } from 'node:http'
import type { Route } from '../../../api/admin/route.ts'
import type { KeyScope } from '../../../api/key-scope.ts'
import { SIGNATURE_LIFE_MS, signedText } from '../../../api/node-signature.ts'
import { verify } from '../../../bus/nkey.ts'
import { AppError, messageOf } from '../../../platform/errors.ts'
import { pathOf } from '../../../http/server.ts'
import { hashSecret, sameSecret } from '../../../platform/secrets.ts'
import { shownBearer } from '../../../http/server/presented-key.ts'
import { findKeyByHash, touchKeys } from '../../../store/nouns/api-keys.ts'
import { findToken } from '../../../store/nouns/join-tokens.ts'
import { findNode } from '../../../store/nouns/nodes.ts'
import { findSession, type Holder } from '../../../store/nouns/sessions.ts'
import { absentNode } from '../../joining/absent-node.ts'
import { UNKNOWN_TOKEN } from '../../joining/register-node.ts'
import type { AdminDeps } from '../deps.ts'
import { refuseForgery } from './csrf.ts'
import { shownSession } from './session-cookie.ts'

export interface Caller {
  /** The actor in events: `admin`, or `key <name>` for an API key. Empty where the route asks for neither. */
  actor: string
  /** The API key that was shown, now or when signing in; null for the admin key, and where neither is asked for. */
  keyId: string | null
  /** The join token that was shown, on the routes that ask for one. */
  token: string
  request: IncomingMessage
  /** Sent with the answer: an answer may add to them. */
  answerHeaders: Record<string, string>
}

type AuthorizeDeps = Pick<AdminDeps, 'db' | 'adminKey' | 'clock' | 'log' | 'clusterId' | 'onNodeSeen'>

/** When an API key was last used is kept to this, or every call would write. */
const TOUCH_PERIOD_MS = 60_000

/** Lets a caller in or throws; nothing of the body has been read yet. */
export async function authorize(
  request: IncomingMessage,
  auth: Route['auth'],
  params: Readonly<Record<string, string>>,
  deps: AuthorizeDeps,
): Promise<Caller> {
  // No cache may keep what an admin sees; a cookie alone does not prevent that.
  const answerHeaders = { 'cache-control': 'no-store' }
  const caller: Caller = { actor: '', keyId: null, token: '', request, answerHeaders }
  switch (auth) {
    case 'none':
      return caller
    case 'admin':
    case 'read':
      return { ...caller, ...(await adminOf(request, auth, deps)) }
    case 'join': {
      const token = shownBearer(request)
      if (!token)
        throw new AppError('unauthorized', 'This call needs the join token: Authorization: Bearer <join token>.')
      if (!(await findToken(deps.db, token))) throw new AppError('unauthorized', UNKNOWN_TOKEN)
      return { ...caller, token }
    }
    case 'node':
      await checkSigner(request, params['id']!, deps)
      return caller
  }
}

/** The caller by the key it shows; without a key, by its dashboard session. */
async function adminOf(request: IncomingMessage, auth: 'admin' | 'read', deps: AuthorizeDeps): Promise<Holder> {
  const key = shownBearer(request)
  if (key !== undefined) return holderOf(key, auth, deps)
  const session = shownSession(request)
  if (session === undefined) throw new AppError('unauthorized', NO_KEY)
  refuseForgery(request)
  const found = await findSession(deps.db, hashSecret(session))
  if (!found) throw new AppError('unauthorized', SESSION_OVER)
  if (found.scopes) checkScope(found.scopes, auth)
  return { actor: found.actor, keyId: found.key_id }
}

const NO_KEY = 'This call needs the admin key: Authorization: Bearer <admin key>.'
const SESSION_OVER =
  'You are no longer signed in. Sign in with an admin key, or with a link: flotilla dashboard prints one.'

/** The caller that shows the admin key of this frontend, or an API key with the needed scope. */
export async function holderOf(
  key: string,
  auth: 'admin' | 'read',
  { db, adminKey, clock, log }: AuthorizeDeps,
): Promise<Holder> {
  if (sameSecret(key, adminKey())) return { actor: 'admin', keyId: null }
  // A text that cannot be an API key costs no query. The store compares hashes, so its timing reveals nothing.
  const found = key.startsWith('fk_') ? await findKeyByHash(db, hashSecret(key)) : undefined
  if (!found) throw new AppError('unauthorized', 'The admin key is wrong.')
  checkScope(found.scopes, auth)
  if (clock.nowMs() - (found.last_used_at ?? 0) > TOUCH_PERIOD_MS) {
    // Only shown to people, so the call does not wait for it.
    db.transaction((tx) => touchKeys(tx, [found.id])).catch((error: unknown) =>
      log.debug({ id: found.id, error: messageOf(error) }, 'api: could not save when the key was last used'),
    )
  }
  return { actor: `key ${found.name}`, keyId: found.id }
}

function checkScope(scopes: readonly KeyScope[], auth: 'admin' | 'read'): void {
  if (scopes.includes('admin')) return
  const mayRead = scopes.includes('read')
  if (auth === 'read' && mayRead) return
  const what = mayRead ? 'may look at everything and change nothing' : 'is for inference only'
  const text = `This API key ${what}. Use the admin key, or make one with flotilla keys create --scope ${auth}.`
  throw new AppError('forbidden', text)
}

/** The node named in the path is the one that signed this very call just now. */
async function checkSigner(
  request: IncomingMessage,
  id: string,
  { db, clock, clusterId, onNodeSeen }: AuthorizeDeps,
): Promise<void> {
  const match = /^Node\s+(\d{1,15})\.([\w-]{1,200})\s*$/i.exec(request.headers.authorization ?? '')
  if (!match) {
    throw new AppError(
      'unauthorized',
      'This call needs the signature of the node: Authorization: Node <time>.<signature>.',
    )
  }
  const [signedAtMs, signature] = [Number(match[1]), match[2]!]
  const node = await findNode(db, id)
  if (!node) throw await absentNode(db, id, clusterId)
  const text = signedText(request.method ?? 'GET', pathOf(request), signedAtMs)
  if (!verify(node.public_key, text, signature)) {
    throw new AppError('forbidden', `The call is not signed with the key of ${node.name}.`)
  }
  if (Math.abs(clock.nowMs() - signedAtMs) > SIGNATURE_LIFE_MS) {
    // Not `forbidden`: a worker takes that for its removal and stops all that it runs.
    throw new AppError(
      'unauthorized',
      "The call was signed more than 5 minutes away from this frontend's time. Set both clocks.",
    )
  }
  onNodeSeen?.({ id, name: node.name, address: node.address, aheadMs: signedAtMs - clock.nowMs() }, 'signed')
}
