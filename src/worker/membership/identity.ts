import { existsSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { newSeed, publicKeyOf } from '../../bus/nkey.ts'
import { readOrCreateSecret } from '../../platform/secrets.ts'

/** A node is its key, not its name: made once, kept in the data folder. */
export interface Identity {
  seed: string
  publicKey: string
  /** The key before, until the cluster has taken note of this one. */
  old?: OldIdentity
}

export interface OldIdentity {
  seed: string
  /** The cluster knows the new one: this one is of no use to anybody. */
  forget(): void
}

/** `isNewWanted`: another key from now on. One that the cluster has not taken note of yet is not replaced once more. */
export function loadIdentity(path: string, isNewWanted = false): Identity {
  const oldPath = `${path}.old`
  // Renamed, so that whenever this process ends there is a key that the cluster knows, or one that it will be told of.
  if (isNewWanted && existsSync(path) && !existsSync(oldPath)) renameSync(path, oldPath)
  const seed = readOrCreateSecret(path, newSeed)
  const identity = { seed, publicKey: publicKeyOf(seed) }
  if (!existsSync(oldPath)) return identity
  const old = readFileSync(oldPath, 'utf8').trim()
  return { ...identity, old: { seed: old, forget: () => rmSync(oldPath, { force: true }) } }
}
