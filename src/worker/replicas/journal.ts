import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { replicaStart } from '../../api/bus/messages.ts'
import { engineProfile } from '../../api/engine-profile.ts'
import { writeWhole } from '../../platform/write-whole.ts'

/**
 * What a worker must know of an engine to adopt it after a restart. Written before the engine may run; whether it still
 * runs is asked of the operating system, by the identity beside the entry.
 */
const entry = z.object({
  spec: replicaStart,
  profile: engineProfile,
  port: z.int(),
  /** The name by which the engine knows the model, when it is not the model's own. */
  request_model: z.string().nullable(),
  model_bytes: z.int().nonnegative(),
  /** It was ready once: the log line that said so will not be printed again. */
  was_ready: z.boolean(),
})
export type JournalEntry = z.infer<typeof entry>

/** One folder for each replica with a process; its files are the entry, the engine's identity and its log pipes. */
export class Journal {
  readonly folder: string

  constructor(folder: string) {
    this.folder = folder
    mkdirSync(folder, { recursive: true, mode: 0o700 })
  }

  /**
   * The folder of everything about one replica. The id is a uuid from control; whatever it is, the path stays inside.
   */
  folderOf(id: string): string {
    return join(this.folder, encodeURIComponent(id).replaceAll('.', '%2E'))
  }

  /** The engine's working folder; deleted with the replica. */
  scratchOf(id: string): string {
    const folder = join(this.folderOf(id), 'scratch')
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    return folder
  }

  write(id: string, content: JournalEntry): void {
    const folder = this.folderOf(id)
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    writeWhole(join(folder, ENTRY), `${JSON.stringify(content)}\n`)
  }

  remove(id: string): void {
    this.removeFolder(this.folderOf(id))
  }

  /** Removes a folder that `list` has returned. */
  removeFolder(folder: string): void {
    rmSync(folder, { recursive: true, force: true })
  }

  /** Every folder, with its entry if that can be read. */
  list(): { folder: string; entry: JournalEntry | undefined }[] {
    return readdirSync(this.folder, { withFileTypes: true })
      .filter((found) => found.isDirectory())
      .map(({ name }) => ({ folder: join(this.folder, name), entry: readEntry(join(this.folder, name)) }))
  }
}

const ENTRY = 'replica.json'

function readEntry(folder: string): JournalEntry | undefined {
  try {
    return entry.parse(JSON.parse(readFileSync(join(folder, ENTRY), 'utf8')))
  } catch {
    return undefined
  }
}
