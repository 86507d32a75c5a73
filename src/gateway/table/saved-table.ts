import { readFileSync } from 'node:fs'
import { rename, rm, writeFile } from 'node:fs/promises'
import { z } from 'zod'
import { routingSnapshot, type RoutingSnapshotMessage } from '../../api/bus/messages.ts'
import type { Clock } from '../../platform/run/clock.ts'
import { messageOf } from '../../platform/errors.ts'
import type { Logger } from '../../platform/run/log.ts'

/**
 * The last routing table in a file, so that a gateway that starts while control is away serves what it served before.
 *
 * The file holds secrets: the data keys of all nodes, with which whoever reads it can ask their engines directly, and the
 * hashes of the API keys. It is for its owner alone (0600), in the data folder (0700), and belongs into no backup that
 * others read.
 */
export interface SavedTable {
  /** Nothing when there is none, or none that can be read. */
  load(): { savedAtMs: number; table: RoutingSnapshotMessage } | undefined
  /** The table may have changed: written soon, if it has. */
  changed(current: () => RoutingSnapshotMessage | undefined): void
  /** Writes what is still to be written. */
  dispose(): Promise<void>
}

/** A table that changes all the time is written no more often than this. */
const WRITE_EVERY_MS = 1000

const content = z.object({ saved_at: z.int().nonnegative(), table: routingSnapshot })

export function openSavedTable(file: string, clock: Clock, log: Logger): SavedTable {
  let written: { feed: string; version: number } | undefined
  let current: () => RoutingSnapshotMessage | undefined = () => undefined
  let cancel: (() => void) | undefined
  let writing: Promise<void> = Promise.resolve()
  let isFailing = false

  const write = async (): Promise<void> => {
    const table = current()
    // The version says whether anything is different: the same feed never gives one number to two tables.
    if (!table || (table.feed === written?.feed && table.version === written.version)) return
    const temporary = `${file}.new`
    try {
      await writeFile(temporary, JSON.stringify({ saved_at: clock.nowMs(), table }), { mode: 0o600 })
      await rename(temporary, file)
      written = { feed: table.feed, version: table.version }
      isFailing = false
    } catch (error) {
      // A full disk: it serves as before, and only a restart without control would miss it. Told once, tried at each change.
      if (!isFailing) log.warn({ file, error: messageOf(error) }, 'gateway: the routing table cannot be saved')
      isFailing = true
      await rm(temporary, { force: true }).catch(() => {})
    }
  }
  const writeNext = (): Promise<void> => (writing = writing.then(write))

  return {
    load() {
      const found = read(file, log)
      if (found) written = { feed: found.table.feed, version: found.table.version }
      return found
    },
    changed(latest) {
      current = latest
      cancel ??= clock.after(WRITE_EVERY_MS, () => {
        cancel = undefined
        void writeNext()
      })
    },
    async dispose() {
      const isDue = cancel !== undefined
      cancel?.()
      await (isDue ? writeNext() : writing)
    },
  }
}

function read(file: string, log: Logger): ReturnType<SavedTable['load']> {
  try {
    const { saved_at: savedAtMs, table } = content.parse(JSON.parse(readFileSync(file, 'utf8')))
    return { savedAtMs, table }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    // What it holds is not repeated: there are keys in it.
    const why = error instanceof z.ZodError || error instanceof SyntaxError ? 'it is damaged' : messageOf(error)
    log.warn({ file, error: why }, 'gateway: the saved routing table is ignored')
    return undefined
  }
}
