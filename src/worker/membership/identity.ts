import { existsSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { newSeed, publicKeyOf } from '../../bus/nkey.ts'
import { readOrCreateSecret } from '../../platform/secrets.ts'

/** A node is identified by its key, not its name. The key is made once and kept in the data folder. */
export interface Identity {
  seed: string
  publicKey: string
  /** The previous key, until the cluster has recorded this one. */
  old?: OldIdentity
}

export interface OldIdentity {
  seed: string
  /** Deletes the old key, once the cluster has recorded the new one. */
  forget(): void
}

/** `isNewWanted` makes a new key. A new key that the cluster has not recorded yet is not replaced again. */
export function loadIdentity(path: string, isNewWanted = false): Identity {
  const oldPath = `${path}.old`
  // Renamed, so that whenever this process ends there is a key that the cluster knows, or one that it will learn.
  if (isNewWanted && existsSync(path) && !existsSync(oldPath)) renameSync(path, oldPath)
  const seed = readOrCreateSecret(path, newSeed)
  const identity = { seed, publicKey: publicKeyOf(seed) }
  if (!existsSync(oldPath)) return identity
  const old = readFileSync(oldPath, 'utf8').trim()
  return { ...identity, old: { seed: old, forget: () => rmSync(oldPath, { force: true }) } }
}
