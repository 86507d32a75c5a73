import { nkeys } from '@nats-io/transport-node'
import { readAccount, signJwt, type Signer } from '../bus/user-jwt.ts'

/** An operator with one account: what a NATS server in operator mode needs to know, and what signs its users. */
export interface NatsAccounts {
  /** Lines for the server's configuration. */
  config: string[]
  /** The account's seed, as an operator would put it into a file. */
  seed: string
  signer: Signer
}

export function natsAccounts(): NatsAccounts {
  const operatorPair = nkeys.createOperator()
  const key = operatorPair.getPublicKey()
  const operator: Signer = { account: key, issuer: key, sign: (bytes) => operatorPair.sign(bytes) }
  const seed = new TextDecoder().decode(nkeys.createAccount().getSeed())
  const signer = readAccount(seed, 'a test')
  const limits = { subs: -1, data: -1, payload: -1, imports: -1, exports: -1, wildcards: true, conn: -1, leaf: -1 }
  const iat = Math.floor(Date.now() / 1000)
  const operatorJwt = signJwt(operator, {
    jti: 'o',
    iat,
    sub: key,
    name: 'test',
    nats: { type: 'operator', version: 2 },
  })
  const accountJwt = signJwt(operator, {
    jti: 'a',
    iat,
    sub: signer.account,
    name: 'flotilla',
    nats: { limits, default_permissions: { pub: {}, sub: {} }, type: 'account', version: 2 },
  })
  const config = [
    `operator: ${operatorJwt}`,
    'resolver: MEMORY',
    `resolver_preload: { ${signer.account}: ${accountJwt} }`,
  ]
  return { config, seed, signer }
}
