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

/** Names that Flotilla creates beside `current.json`. Other files belong to the user and are never deleted. */
const OWN_NAMES = /^(\.new-.+|current\.json\.new|[0-9a-f]{64}|made-.+)$/

const current = z.object({
  /** The sha256 of the archive, or the time at which the command ran. */
  version: z.string(),
  /** What it was made from: another installation of the same recipe has nothing to do. */
  recipe: z.string(),
  folder: z.string().regex(/^[^./][^/]*$/),
})

export type InstalledEngine = z.infer<typeof current>

/**
 * What was installed on this node: `<folder>/<engine>/<version>/`, and beside it `current.json`, which names the
 * current version. Only renaming that file makes a version current; everything else in the folder is left over from an
 * unfinished operation.
 */
export class Installed {
  readonly #folder: string
  readonly #log: Logger
  readonly #current = new Map<string, InstalledEngine>()

  /** Reads the installed engines and deletes leftovers of an earlier run. */
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

  /** Makes an empty folder to unpack into, on the same disk as its final place. */
  newFolder(engine: string): string {
    const path = join(this.#folder, engine, `.new-${randomUUID()}`)
    mkdirSync(path, { recursive: true, mode: 0o755 })
    return path
  }

  /** Makes an empty folder in its final place: what a command creates may not be moved afterwards. */
  newVersionFolder(engine: string, label: string): { path: string; name: string } {
    const name = `made-${label.replaceAll(/[^\w.-]/g, '-')}-${randomUUID().slice(0, 8)}`
    const path = join(this.#folder, engine, name)
    mkdirSync(path, { recursive: true, mode: 0o755 })
    return { path, name }
  }

  /** Moves an unpacked folder to its version's place. Returns its name for `makeCurrent`. */
  place(engine: string, unpacked: string, version: string): string {
    const path = join(this.#folder, engine, version)
    // It exists only if it is broken: a complete one would have been recognized as installed.
    rmSync(path, { recursive: true, force: true })
    renameSync(unpacked, path)
    return version
  }

  /** Makes this version current and deletes the one before, which no replica uses any more. */
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

  /** Deletes all but the current version. Call it only while no operation runs on this engine. */
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
