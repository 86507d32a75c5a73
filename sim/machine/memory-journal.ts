import type { JournalEntry } from '../../src/worker/replicas/journal.ts'
import type { ProcessIdentity } from '../../src/worker/processes/process-identity.ts'

/** The worker's journal on the machine's disk, which is a map here. What is written is a copy, as on a disk. */
export class MemoryJournal {
  readonly folder = 'replicas'
  readonly identities = new Map<string, ProcessIdentity>()
  readonly #entries = new Map<string, string>()
  readonly #checkDisk: () => void

  constructor(checkDisk: () => void) {
    this.#checkDisk = checkDisk
  }

  folderOf(id: string): string {
    return id
  }

  scratchOf(id: string): string {
    return id
  }

  write(id: string, entry: JournalEntry): void {
    this.#checkDisk()
    this.#entries.set(id, JSON.stringify(entry))
  }

  read(id: string): JournalEntry | undefined {
    const text = this.#entries.get(id)
    return text === undefined ? undefined : (JSON.parse(text) as JournalEntry)
  }

  remove(id: string): void {
    this.removeFolder(id)
  }

  removeFolder(folder: string): void {
    this.#entries.delete(folder)
    this.identities.delete(folder)
  }

  list(): { folder: string; entry: JournalEntry | undefined }[] {
    const folders = new Set([...this.#entries.keys(), ...this.identities.keys()])
    return [...folders].map((folder) => ({ folder, entry: this.read(folder) }))
  }
}
