import { randomUUID } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import type { Logger } from '../../platform/run/log.ts'

/** What Flotilla itself puts beside `current.json`. Nothing else is ever deleted: it is somebody's. */
const OWN_NAMES = /^(\.new-.+|current\.json\.new|[0-9a-f]{64}|made-.+)$/

const current = z.object({
  /** The sha256 of its archive, or when its command was run. */
  version: z.string(),
  /** What it was made from: asked for the same again, there is nothing to do. */
  recipe: z.string(),
  folder: z.string().regex(/^[^./][^/]*$/),
})

export type InstalledEngine = z.infer<typeof current>

/**
 * What was installed on this node: `<folder>/<engine>/<version>/`, and beside it `current.json`, which names the version
 * that counts. Only its rename makes a version the current one; anything else in there is left over from something that
 * did not come to its end.
 */
export class Installed {
  readonly #folder: string
  readonly #log: Logger
  readonly #current = new Map<string, InstalledEngine>()

  /** Reads what is there and deletes what is left over from an earlier run. */
  constructor(folder: string, log: Logger) {
    this.#folder = folder
    this.#log = log
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      if (!entry.isDirectory()) continue
      const version = readCurrent(join(folder, entry.name, 'current.json'))
      if (version) this.#current.set(entry.name, version)
      this.#clean(entry.name)
    }
  }

  names(): string[] {
    return [...this.#current.keys()]
  }

  get(engine: string): InstalledEngine | undefined {
    return this.#current.get(engine)
  }

  /** The folder of the current version. */
  folderOf(engine: string): string | undefined {
    const version = this.#current.get(engine)
    return version && join(this.#folder, engine, version.folder)
  }

  /** A new empty folder to unpack into, on the same disk as where it will end. */
  newFolder(engine: string): string {
    const path = join(this.#folder, engine, `.new-${randomUUID()}`)
    mkdirSync(path, { recursive: true, mode: 0o755 })
    return path
  }

  /** A new empty folder where it will stay: what a command makes may not be moved afterwards. */
  newVersionFolder(engine: string, label: string): { path: string; name: string } {
    const name = `made-${label.replaceAll(/[^\w.-]/g, '-')}-${randomUUID().slice(0, 8)}`
    const path = join(this.#folder, engine, name)
    mkdirSync(path, { recursive: true, mode: 0o755 })
    return { path, name }
  }

  /** Moves an unpacked folder to where the version belongs. Returns its name for `makeCurrent`. */
  place(engine: string, unpacked: string, version: string): string {
    const path = join(this.#folder, engine, version)
    // There is one only if it is broken: a whole one would have been nothing to do.
    rmSync(path, { recursive: true, force: true })
    renameSync(unpacked, path)
    return version
  }

  /** From here on this is the engine. The version before it is deleted: nobody uses it any more. */
  async makeCurrent(engine: string, version: InstalledEngine): Promise<void> {
    writeDurably(join(this.#folder, engine, 'current.json'), JSON.stringify(version, null, 2))
    this.#current.set(engine, version)
    await this.discardLeftovers(engine)
  }

  async remove(engine: string): Promise<void> {
    rmSync(join(this.#folder, engine, 'current.json'), { force: true })
    this.#current.delete(engine)
    for (const path of this.#leftovers(engine)) await rm(path, { recursive: true, force: true })
    this.#removeIfEmpty(engine)
  }

  /** Deletes all but the current version; only while nothing is being done to this engine. */
  async discardLeftovers(engine: string): Promise<void> {
    try {
      for (const path of this.#leftovers(engine)) await rm(path, { recursive: true, force: true })
      this.#removeIfEmpty(engine)
    } catch (error) {
      this.#log.warn({ engine, error }, 'cannot delete what is left of another version; the next start tries again')
    }
  }

  #clean(engine: string): void {
    try {
      for (const path of this.#leftovers(engine)) rmSync(path, { recursive: true, force: true })
      this.#removeIfEmpty(engine)
    } catch (error) {
      this.#log.warn({ engine, error }, 'cannot delete what is left of an interrupted installation')
    }
  }

  #leftovers(engine: string): string[] {
    const folder = join(this.#folder, engine)
    const keep = this.#current.get(engine)?.folder
    const names = existsSync(folder) ? readdirSync(folder) : []
    return names.filter((name) => OWN_NAMES.test(name) && name !== keep).map((name) => join(folder, name))
  }

  #removeIfEmpty(engine: string): void {
    const folder = join(this.#folder, engine)
    if (existsSync(folder) && readdirSync(folder).length === 0) rmdirSync(folder)
  }
}

function readCurrent(file: string): InstalledEngine | undefined {
  try {
    return current.parse(JSON.parse(readFileSync(file, 'utf8')))
  } catch {
    return undefined
  }
}

function writeDurably(file: string, text: string): void {
  const fd = openSync(`${file}.new`, 'w', 0o600)
  try {
    writeSync(fd, `${text}\n`)
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
  renameSync(`${file}.new`, file)
}
