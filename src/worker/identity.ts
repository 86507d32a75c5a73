import { newSeed, publicKeyOf } from '../bus/nkey.ts'
import { readOrCreateSecret } from '../platform/secrets.ts'

/** A node is its key, not its name: made once, kept in the data folder. */
export interface Identity {
  seed: string
  publicKey: string
}

export function loadIdentity(path: string): Identity {
  const seed = readOrCreateSecret(path, newSeed)
  return { seed, publicKey: publicKeyOf(seed) }
}
