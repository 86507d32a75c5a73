import type { EngineProfile } from '../../api/engine-profile.ts'
import { findInFolder, findOnMachine, programOf } from './find-program.ts'
import type { Installed } from './installed.ts'

/** Where the engines' programs are. A result is cached until `lookAgain`. */
export class Programs {
  readonly #installed: Installed
  readonly #path: string | undefined
  readonly #found = new Map<EngineProfile, string | undefined>()

  constructor(installed: Installed, path: string | undefined) {
    this.#installed = installed
    this.#path = path
  }

  /** In the installed engine's folder, else on this machine. */
  find(profile: EngineProfile): string | undefined {
    if (!this.#found.has(profile)) this.#found.set(profile, this.lookFor(profile))
    return this.#found.get(profile)
  }

  lookFor(profile: EngineProfile): string | undefined {
    return this.lookInFolder(profile) ?? findOnMachine(programOf(profile), this.#path)
  }

  /** In the installed engine's folder only. */
  lookInFolder(profile: EngineProfile): string | undefined {
    const folder = this.#installed.folderOf(profile.name)
    return folder === undefined ? undefined : findInFolder(programOf(profile), folder)
  }

  lookAgain(): void {
    this.#found.clear()
  }
}
