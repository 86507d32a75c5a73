import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { messageOf } from '../../../platform/errors.ts'
import type { Logger } from '../../../platform/run/log.ts'
import { writeJson, type Layout } from './layout.ts'

const hex = (digits: number) => z.string().regex(new RegExp(`^[0-9a-f]{${digits}}$`))

const manifest = z.object({
  version: z.literal(1),
  id: hex(32),
  /** With secrets removed. */
  source: z.string(),
  /** The models that use it; empty for files that are not a model's. */
  models: z.array(z.string()),
  used_at: z.int(),
  /** Null until all of it is here. */
  content: z
    .object({
      tree: hex(32),
      /** The main file; null when the folder is. */
      main: z.string().nullable(),
      files: z.array(
        z.object({
          path: z.string(),
          sha256: hex(64),
          size: z.int().nonnegative(),
          etag: z.string().nullable(),
          last_modified: z.string().nullable(),
        }),
      ),
    })
    .nullable(),
})
export type Manifest = z.infer<typeof manifest>
export type Content = NonNullable<Manifest['content']>

/** What is known of each source: in memory, and on disk for the next run. */
export class Manifests {
  readonly #layout: Layout
  readonly #byId: Map<string, Manifest>

  private constructor(layout: Layout, byId: Map<string, Manifest>) {
    this.#layout = layout
    this.#byId = byId
  }

  /** Reads all manifests. An unreadable one stays in place and counts as missing. */
  static async open(layout: Layout, log: Logger): Promise<Manifests> {
    const byId = new Map<string, Manifest>()
    for (const name of await readdir(layout.manifests)) {
      if (!/^[0-9a-f]{32}\.json$/.test(name)) continue
      try {
        const read = manifest.parse(JSON.parse(await readFile(join(layout.manifests, name), 'utf8')))
        if (`${read.id}.json` === name) byId.set(read.id, read)
      } catch (error) {
        log.warn({ manifest: name, reason: messageOf(error) }, 'model files: a manifest cannot be read')
      }
    }
    return new Manifests(layout, byId)
  }

  get(id: string): Manifest | undefined {
    return this.#byId.get(id)
  }

  all(): Manifest[] {
    return [...this.#byId.values()]
  }

  async put(manifest: Manifest): Promise<void> {
    await writeJson(this.#layout.manifest(manifest.id), manifest)
    this.#byId.set(manifest.id, manifest)
  }

  async delete(id: string): Promise<void> {
    await rm(this.#layout.manifest(id), { force: true })
    this.#byId.delete(id)
  }
}
