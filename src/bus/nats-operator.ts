import { randomUUID } from 'node:crypto'
import { nkeys } from '@nats-io/transport-node'
import { signJwt, type Signer } from './user-jwt.ts'

/** An operator with one account, as a NATS server in operator mode wants to know it. Seeds are secrets, keys are not. */
export interface NatsOperator {
  operatorSeed: string
  /** In seconds. A running server accepts an updated account, but not an updated operator: that JWT stays as it is. */
  madeAtS: number
  /** The account that the users of the cluster belong to. */
  account: string
  /** Public keys that may sign its users, the newest last. */
  signingKeys: readonly string[]
  /** Users whose JWTs made before a time (in seconds) are no longer taken, by public key. */
  revocations: Readonly<Record<string, number>>
}

/** A new operator and account, with a signing key. The account's own seed is never needed again, so it is not kept. */
export function newNatsOperator(nowMs: number): { operator: NatsOperator; signingSeed: string } {
  const signing = newSigningKey()
  const operator = {
    operatorSeed: seedOf(nkeys.createOperator()),
    madeAtS: Math.floor(nowMs / 1000),
    account: nkeys.createAccount().getPublicKey(),
    signingKeys: [signing.publicKey],
    revocations: {},
  }
  return { operator, signingSeed: signing.seed }
}

export function newSigningKey(): { seed: string; publicKey: string } {
  const pair = nkeys.createAccount()
  return { seed: seedOf(pair), publicKey: pair.getPublicKey() }
}

/** Lines for the configuration of the server. They hold no secrets. */
export function natsConfigOf(operator: NatsOperator, nowMs: number): string[] {
  const signer = operatorSigner(operator.operatorSeed)
  const operatorJwt = signJwt(signer, {
    iat: operator.madeAtS,
    jti: signer.account,
    sub: signer.account,
    name: 'flotilla',
    nats: { type: 'operator', version: 2 },
  })
  const { account, signingKeys, revocations } = operator
  const accountJwt = signJwt(signer, {
    iat: Math.floor(nowMs / 1000),
    jti: randomUUID(),
    sub: account,
    name: 'flotilla',
    nats: {
      limits: NO_LIMITS,
      signing_keys: signingKeys,
      ...(Object.keys(revocations).length === 0 ? {} : { revocations }),
      default_permissions: { pub: {}, sub: {} },
      type: 'account',
      version: 2,
    },
  })
  return [`operator: ${operatorJwt}`, 'resolver: MEMORY', `resolver_preload: { ${account}: ${accountJwt} }`]
}

/** Left out they would be 0. */
const NO_LIMITS = { subs: -1, data: -1, payload: -1, imports: -1, exports: -1, wildcards: true, conn: -1, leaf: -1 }

function operatorSigner(seed: string): Signer {
  const pair = nkeys.fromSeed(new TextEncoder().encode(seed))
  const key = pair.getPublicKey()
  return { account: key, issuer: key, sign: (bytes) => pair.sign(bytes) }
}

function seedOf(pair: { getSeed(): Uint8Array }): string {
  return new TextDecoder().decode(pair.getSeed())
}
