import { nkeys } from '@nats-io/transport-node'
import { expect, test } from 'vitest'
import { isSignedBy, readUserKey } from './nkey.ts'

const NONCE = 'a-nonce_123'

test('what a NATS client signs is verified with its public key', () => {
  for (let i = 0; i < 20; i += 1) {
    const pair = nkeys.createUser()
    const key = readUserKey(pair.getPublicKey())!
    const signature = Buffer.from(pair.sign(Buffer.from(NONCE))).toString('base64url')
    expect(isSignedBy(key, NONCE, signature)).toBe(true)
    expect(isSignedBy(key, `${NONCE}x`, signature)).toBe(false)
    expect(isSignedBy(readUserKey(nkeys.createUser().getPublicKey())!, NONCE, signature)).toBe(false)
  }
})

test('a signature that is none is false, not an error', () => {
  const key = readUserKey(nkeys.createUser().getPublicKey())!
  for (const signature of ['', 'AAAA', '%%%', 'A'.repeat(86), 'A'.repeat(1_000)]) {
    expect(isSignedBy(key, NONCE, signature)).toBe(false)
  }
})

test('only a well-formed user key is read', () => {
  const good = nkeys.createUser().getPublicKey()
  const wrongLetter = good.slice(0, 20) + (good[20] === 'A' ? 'B' : 'A') + good.slice(21)
  const others = [nkeys.createAccount().getPublicKey(), nkeys.createServer().getPublicKey()]
  for (const bad of ['', 'U', wrongLetter, good.toLowerCase(), `${good}A`, good.slice(1), ...others]) {
    expect(readUserKey(bad)).toBeUndefined()
  }
})
