import { nkeys } from '@nats-io/transport-node'

/** Ed25519 keys in NATS's own text form: one key is a node's identity and its user on the bus. */

export function newSeed(): string {
  return new TextDecoder().decode(nkeys.createUser().getSeed())
}

export function publicKeyOf(seed: string): string {
  return pairOf(seed).getPublicKey()
}

export function sign(seed: string, text: string): string {
  return Buffer.from(pairOf(seed).sign(new TextEncoder().encode(text))).toString('base64url')
}

/** False for a wrong signature and for anything that is no key or no signature at all. */
export function verify(publicKey: string, text: string, signature: string): boolean {
  try {
    return nkeys.fromPublic(publicKey).verify(new TextEncoder().encode(text), Buffer.from(signature, 'base64url'))
  } catch {
    return false
  }
}

function pairOf(seed: string): ReturnType<typeof nkeys.fromSeed> {
  return nkeys.fromSeed(new TextEncoder().encode(seed))
}
