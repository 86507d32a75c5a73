import { nkeys } from '@nats-io/transport-node'
import { expect, test } from 'vitest'
import { newSeed, publicKeyOf, verify } from './nkey.ts'
import { lifeMsOf, mintUserJwt, readAccount } from './user-jwt.ts'

const seedOf = (pair: ReturnType<typeof nkeys.createUser>): string => new TextDecoder().decode(pair.getSeed())
const account = nkeys.createAccount()
const permissions = { publish: ['nodes.a.heartbeat'], subscribe: [], respond: true }

function claimsOf(jwt: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(jwt.split('.')[1]!, 'base64url').toString()) as Record<string, unknown>
}

test("a user's JWT names its key, its rights and its end, and is signed by the account", () => {
  const publicKey = publicKeyOf(newSeed())
  const signer = readAccount(`${seedOf(account)}\n`, 'file')
  const jwt = mintUserJwt(signer, { publicKey, name: 'a', permissions, lifeMs: 3_600_000 }, 1_700_000_000_500)
  expect(claimsOf(jwt)).toMatchObject({
    iat: 1_700_000_000,
    exp: 1_700_003_600,
    iss: account.getPublicKey(),
    sub: publicKey,
    nats: {
      pub: { allow: ['nodes.a.heartbeat'] },
      // Nothing to hear is not the same as no limit.
      sub: { deny: ['>'] },
      resp: { max: 1, ttl: 120e9 },
      type: 'user',
      version: 2,
    },
  })
  const [head, body, signature] = jwt.split('.')
  expect(verify(account.getPublicKey(), `${head}.${body}`, signature!)).toBe(true)
  expect(lifeMsOf(jwt)).toBe(3_600_000)
})

test('with a signing key the JWT names the account it signs for', () => {
  const signing = nkeys.createAccount()
  const signer = readAccount(`${seedOf(signing)}\n${account.getPublicKey()}\n`, 'file')
  const user = { publicKey: publicKeyOf(newSeed()), name: 'a', permissions, lifeMs: 1000 }
  const claims = claimsOf(mintUserJwt(signer, user, 0))
  expect(claims).toMatchObject({ iss: signing.getPublicKey(), nats: { issuer_account: account.getPublicKey() } })
})

test.each([
  ['nothing', ''],
  ["a user's seed", newSeed()],
  ['a public key', account.getPublicKey()],
  ['half a seed', seedOf(account).slice(0, 30)],
  ['more than two lines', `${seedOf(account)} ${account.getPublicKey()} x`],
])('%s in the seed file is told, and not repeated', (_, text) => {
  expect(() => readAccount(text, '/etc/account.seed')).toThrow(/^\/etc\/account\.seed: expected an account's seed/)
})

test.each(['', 'a.b.c', 'x'])('%j has no life', (jwt) => {
  expect(lifeMsOf(jwt)).toBeUndefined()
})
