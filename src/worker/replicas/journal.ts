import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { replicaStart } from '../../api/bus/messages.ts'
import { engineProfile } from '../../api/engine-profile.ts'
import { writeWhole } from '../../platform/write-whole.ts'

/**
 * What a worker must know of an engine to take it over after a restart. Written before the engine may run; whether it
 * still runs is asked of the operating system, by the identity beside it.
 */
const entry = z.object({
  spec: replicaStart,
  profile: engineProfile,
  port: z.int(),
  /** The name that the engine knows the model by, when it is not the model's own. */
  request_model: z.string().nullable(),
  model_bytes: z.int().nonnegative(),
  /** It has served: a line in the log that said so will not come again. */
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

  /** Where everything about one replica is kept. The id is a uuid that control made; whatever it is, it stays in here. */
  folderOf(id: string): string {
    return join(this.folder, encodeURIComponent(id).replaceAll('.', '%2E'))
  }

  /** Where the engine runs and may leave what it likes; gone with the replica. */
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

  /** One that `list` has found. */
  removeFolder(folder: string): void {
    rmSync(folder, { recursive: true, force: true })
  }

  /** Every folder there is, with its entry if it can be understood. */
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
