import type { EngineProfile } from '../../api/engine-profile.ts'
import { readUserProfiles, signatureOf } from './user-profiles.ts'

/** A name of an engine that this node has heard of. A broken one shadows a built-in one: its author wanted another. */
export type KnownEngine = { source: 'built-in' | 'user' } & (
  | { profile: EngineProfile; broken?: undefined }
  | { profile?: undefined; broken: string }
)

/** The profiles of a node: those built in, and those that users put into a folder. */
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

  /** Reads the folder again if something in it changed. True when it did. */
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
