import type { RoutedKeyMessage } from '../../api/bus/messages.ts'
import type { KeyScope } from '../../api/key-scope.ts'
import { hostAndPort, isLoopback } from '../../platform/address.ts'
import type { Clock } from '../../platform/run/clock.ts'
import { AppError } from '../../platform/errors.ts'
import type { HttpRequest } from '../../http/exchange.ts'
import { hashSecret, sameHash } from '../../platform/secrets.ts'
import { isFromOtherPage } from '../../http/server/own-origin.ts'
import { PROXY_HEADERS } from '../../http/server/request-origin.ts'
import { looksLikeOurs, refuseKeyInUrl, shownKey, timesSent } from '../../http/server/presented-key.ts'
import type { WrongKeys } from '../../http/server/failure-throttle.ts'

/** The sender of a request, as far as its permissions depend on it. */
export interface Caller {
  /** The id of the caller's key; null for a program on this machine without a key. */
  keyId: string | null
  /** Names of the models it may use; null is all. */
  models: readonly string[] | null
  /** Its key is the admin key, or has the scope admin. */
  isAdmin?: true
}

export interface GuardDeps {
  /** The keys that came with the routing table. */
  keys: { hasSnapshot(): boolean; keyByHash(hash: string): RoutedKeyMessage | undefined }
  clock: Pick<Clock, 'nowMs'>
  /** Whether a program on this machine needs no key (`--local-inference`). */
  localInference: boolean
  /** `hashSecret` of this frontend's admin key; a separate gateway has none, and gets all keys with the routing table. */
  adminKeyHash?: string | undefined
  /** Throttles addresses that send wrong keys. */
  wrongKeys?: WrongKeys
}

/** The `keyId` of the admin key, which has no row in the store. */
const ADMIN_KEY_ID = 'admin'

/**
 * Allows inference for the admin key and for API keys from anywhere; without a key only for a program on this machine, where
 * `localInference` is on. A wrong key in Flotilla's format is refused, on this machine too. OpenAI's clients insist on some
 * key, so a program on this machine may also send any other text. Nothing here waits, and no error contains any part of a
 * key.
 */
export function allowInference(request: HttpRequest, deps: GuardDeps): Caller {
  return allow(request, deps, INFERENCE)
}

/** Metrics reveal the models and their use, so they are for admins, keys with the scope `read`, and this machine. */
export function allowMetrics(request: HttpRequest, deps: GuardDeps): void {
  allow(request, deps, METRICS)
}

interface Purpose {
  scope: KeyScope
  refusal: string
}

const HOW_TO_GET_ONE =
  'Send Authorization: Bearer <key>; flotilla keys create --name <name> makes one on the machine of the frontend.'
const INFERENCE: Purpose = { scope: 'inference', refusal: `This key is not for inference. ${HOW_TO_GET_ONE}` }
const METRICS: Purpose = {
  scope: 'read',
  refusal: 'Metrics need a key with the scope read: flotilla keys create --name prometheus --scope read makes one.',
}

/** What the head of a request shows about its sender. */
export interface Shown {
  key: { hash: string; isOurs: boolean } | undefined
  /** Why the request needs a key even from this machine; undefined when it needs none. */
  refusal: string | undefined
}

export function shownBy(request: HttpRequest): Shown {
  refuseKeyInUrl(request)
  const key = shownKey(request)
  return {
    key: key === undefined ? undefined : { hash: hashSecret(key), isOurs: looksLikeOurs(key) },
    refusal: whyNotWithoutKey(request),
  }
}

/** The caller, if it may use inference; undefined, without an error, if it may not. */
export function callerOf({ key, refusal }: Shown, isLocal: boolean, deps: GuardDeps): Caller | undefined {
  try {
    const holder = key && holderOf(key.hash, deps, INFERENCE)
    if (holder && !(holder instanceof AppError)) return holder
  } catch {
    return undefined
  }
  return deps.localInference && isLocal && refusal === undefined && !key?.isOurs ? NOBODY : undefined
}

const LOCAL_IS_OFF =
  'Inference needs a key here, from this machine too: this listener was started with --local-inference off, which is the default with TLS or on an address that other machines reach.'
const NOBODY: Caller = { keyId: null, models: null }

function allow(request: HttpRequest, deps: GuardDeps, purpose: Purpose): Caller {
  const { key, refusal: fromHead } = shownBy(request)
  const isLocal = isLoopback(request.socket.remoteAddress ?? '')
  const refusal = isLocal
    ? deps.localInference
      ? fromHead
      : LOCAL_IS_OFF
    : 'Inference from another machine needs a key.'
  if (key) {
    const holder = holderOf(key.hash, deps, purpose)
    if (!(holder instanceof AppError)) return holder
    if (refusal !== undefined || key.isOurs) throw deps.wrongKeys?.judge(request, holder) ?? holder
  }
  if (refusal === undefined) return NOBODY
  throw new AppError('unauthorized', `${refusal} ${HOW_TO_GET_ONE}`)
}

/** The caller of a key, or the error for an unknown key. The time of a lookup by hash reveals at most hashes, not keys. */
function holderOf(
  hash: string,
  { keys, clock, adminKeyHash, localInference }: GuardDeps,
  purpose: Purpose,
): Caller | AppError {
  if (adminKeyHash !== undefined && sameHash(hash, adminKeyHash))
    return { keyId: ADMIN_KEY_ID, models: null, isAdmin: true }
  const known = keys.keyByHash(hash)
  if (!known && !keys.hasSnapshot()) {
    const text = 'This gateway has not yet received the keys from the control plane. Try again in a moment.'
    return new AppError('unavailable', text, { retryAfterS: 1 })
  }
  if (!known) {
    const orNone = localInference ? ' A program on the same machine may also ask without any key.' : ''
    const text = `This key is not known: it is wrong, or it was revoked or has expired. ${HOW_TO_GET_ONE}${orNone}`
    return new AppError('unauthorized', text)
  }
  if (known.expires_at !== null && known.expires_at <= clock.nowMs()) {
    throw new AppError('unauthorized', `This key has expired. ${HOW_TO_GET_ONE}`)
  }
  const isAdmin = known.scopes.includes('admin')
  if (!isAdmin && !known.scopes.includes(purpose.scope)) throw new AppError('forbidden', purpose.refusal)
  return { keyId: known.id, models: known.models, ...(isAdmin ? { isAdmin: true as const } : {}) }
}

/**
 * A connection from this machine need not come from a program of this machine. A foreign web page can reach the gateway
 * through the browser: with a host name that it points at 127.0.0.1 (DNS rebinding), or openly with an `Origin`, which a
 * page of another local port has, too. Any client can come through a reverse proxy on this machine that adds proxy headers.
 */
function whyNotWithoutKey(request: HttpRequest): string | undefined {
  const { headers } = request
  if (timesSent(request, 'host') > 1 || (headers.host !== undefined && !namesLoopback(headers.host))) {
    return 'Inference without a key must name this machine as its host, as in http://127.0.0.1:8080; with another name it needs a key.'
  }
  if (isFromOtherPage(request)) return 'Inference for a web page from elsewhere needs a key.'
  return PROXY_HEADERS.some((name) => headers[name] !== undefined)
    ? 'Inference through a proxy needs a key.'
    : undefined
}

/** Clients send the same host again and again. */
let lastHost = { host: '', isLoopback: false }

function namesLoopback(host: string): boolean {
  if (host !== lastHost.host) lastHost = { host, isLoopback: isLoopback(hostAndPort(host, 80)?.host ?? '') }
  return lastHost.isLoopback
}
