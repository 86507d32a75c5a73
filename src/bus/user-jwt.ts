import { randomUUID } from 'node:crypto'
import { nkeys } from '@nats-io/transport-node'
import type { Permissions } from '../api/bus/permissions.ts'
import { AppError } from '../platform/errors.ts'

/**
 * Users of a NATS server with accounts are not listed anywhere: each shows a JWT that names its key and its rights and
 * is signed by the account. Written here because NATS's own package for it is a 0.0.x; it is one JSON and one signature.
 */

/** Signs JWTs: an account for its users; in tests also an operator for its accounts. */
export interface Signer {
  /** The account that the users belong to. */
  account: string
  /** The key that signs, when it is not the account's own. */
  issuer: string
  sign(bytes: Uint8Array): Uint8Array
}

export interface UserClaims {
  publicKey: string
  name: string
  permissions: Permissions
  lifeMs: number
}

/** As long as the embedded broker remembers the requests that a client may answer. */
const RESPONSE_TTL_MS = 120_000
const NO_LIMIT = -1

export function mintUserJwt(signer: Signer, user: UserClaims, nowMs: number): string {
  const { publish, subscribe, respond } = user.permissions
  return signJwt(signer, {
    jti: randomUUID(),
    iat: Math.floor(nowMs / 1000),
    exp: Math.floor((nowMs + user.lifeMs) / 1000),
    sub: user.publicKey,
    name: user.name,
    nats: {
      pub: allow(publish),
      sub: allow(subscribe),
      ...(respond ? { resp: { max: 1, ttl: RESPONSE_TTL_MS * 1e6 } } : {}),
      ...(signer.issuer === signer.account ? {} : { issuer_account: signer.account }),
      // Left out they would be 0: not one subscription, not one byte.
      subs: NO_LIMIT,
      data: NO_LIMIT,
      payload: NO_LIMIT,
      type: 'user',
      version: 2,
    },
  })
}

/** An empty list would mean "no limit" to the server; to us it means nothing at all. */
function allow(patterns: readonly string[]): object {
  return patterns.length === 0 ? { deny: ['>'] } : { allow: patterns }
}

export function signJwt(signer: Signer, claims: Record<string, unknown>): string {
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const text = `${encode({ typ: 'JWT', alg: 'ed25519-nkey' })}.${encode({ ...claims, iss: signer.issuer })}`
  return `${text}.${Buffer.from(signer.sign(Buffer.from(text))).toString('base64url')}`
}

/** How long a JWT lives from the moment it was made; undefined when it does not end or is none. */
export function lifeMsOf(jwt: string): number | undefined {
  try {
    const claims = JSON.parse(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString()) as Record<string, unknown>
    const lifeMs = (Number(claims['exp']) - Number(claims['iat'])) * 1000
    return lifeMs > 0 ? lifeMs : undefined
  } catch {
    return undefined
  }
}

/**
 * Reads what an operator put into the file: the account's seed (`SA…`); or the seed of one of its signing keys and, on
 * the next line, the account's public key (`A…`).
 */
export function readAccount(text: string, file: string): Signer {
  const [seed = '', account, ...rest] = text.split(/\s+/).filter(Boolean)
  const expected = "expected an account's seed (SA…), or a signing key's seed and the account (A…) on the next line"
  const pair = rest.length === 0 && seed.startsWith('SA') ? pairOf(seed) : undefined
  // What is in the file is not repeated: it is a secret, or half of one.
  if (!pair || (account !== undefined && !/^A[A-Z2-7]{55}$/.test(account))) {
    throw new AppError('usage', `${file}: ${expected}.`)
  }
  const issuer = pair.getPublicKey()
  return { account: account ?? issuer, issuer, sign: (bytes) => pair.sign(bytes) }
}

function pairOf(seed: string): ReturnType<typeof nkeys.fromSeed> | undefined {
  try {
    return nkeys.fromSeed(new TextEncoder().encode(seed))
  } catch {
    return undefined
  }
}
