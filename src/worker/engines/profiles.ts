import type { EngineProfile } from '../../api/engine-profile.ts'
import { readUserProfiles, signatureOf } from './user-profiles.ts'

/**
 * An engine's name that this node knows. A broken user profile still hides the built-in one: its author wanted to
 * replace it.
 */
export type KnownEngine = { source: 'built-in' | 'user' } & (
  | { profile: EngineProfile; broken?: undefined }
  | { profile?: undefined; broken: string }
)

/** The profiles of a node: the built-in ones, and those in the user's folder. */
export class Profiles {
  readonly #folder: string
  readonly #builtIn: readonly EngineProfile[]
  #signature: string | undefined
  #known = new Map<string, KnownEngine>()

  constructor(folder: string, builtIn: readonly EngineProfile[]) {
    this.#folder = folder
    this.#builtIn = builtIn
    this.refresh()
  }

  get(name: string): KnownEngine | undefined {
    return this.#known.get(name)
  }

  names(): string[] {
    return [...this.#known.keys()]
  }

  /** Reads the folder again if something in it has changed. Returns whether it has. */
  refresh(): boolean {
    const signature = signatureOf(this.#folder)
    if (signature === this.#signature) return false
    this.#signature = signature
    const { profiles, broken } = readUserProfiles(this.#folder)
    this.#known = new Map()
    for (const profile of this.#builtIn) this.#known.set(profile.name, { source: 'built-in', profile })
    for (const profile of profiles) this.#known.set(profile.name, { source: 'user', profile })
    for (const { name, reason } of broken) this.#known.set(name, { source: 'user', broken: reason })
    return true
  }
}
