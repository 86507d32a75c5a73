import { createPrivateKey, hkdfSync, type KeyObject } from 'node:crypto'

/** An Ed25519 private key is 32 bytes behind this. */
const PKCS8_BEFORE_SEED = Buffer.from('302e020100300506032b657004220420', 'hex')

/** A private key (Ed25519) derived from a secret, so that only the secret must be kept. */
export function derivedKey(secret: string, purpose: string): KeyObject {
  const seed = Buffer.from(hkdfSync('sha256', secret, 'flotilla', purpose, 32))
  return createPrivateKey({ key: Buffer.concat([PKCS8_BEFORE_SEED, seed]), format: 'der', type: 'pkcs8' })
}
