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
 * The file holds secrets: the data keys of all nodes, which give direct access to their engines, and the hashes of the API
 * keys. Only its owner may read it (mode 0600, in the data folder with 0700), and it does not belong in a shared backup.
 */
export interface SavedTable {
  /** Undefined when there is no file, or it cannot be read. */
  load(): { savedAtMs: number; table: RoutingSnapshotMessage } | undefined
  /** The table may have changed: writes it soon, if it has. */
  changed(current: () => RoutingSnapshotMessage | undefined): void
  /** Writes a pending change. */
  dispose(): Promise<void>
}

/** A table that changes constantly is written no more often than this. */
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
    // The version identifies the table: a feed never gives the same version to two tables.
    if (!table || (table.feed === written?.feed && table.version === written.version)) return
    const temporary = `${file}.new`
    try {
      await writeFile(temporary, JSON.stringify({ saved_at: clock.nowMs(), table }), { mode: 0o600 })
      await rename(temporary, file)
      written = { feed: table.feed, version: table.version }
      isFailing = false
    } catch (error) {
      // The disk may be full. The gateway serves as before; only a restart without control would miss the file. It is
      // logged once, and tried again at each change.
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
    // The error must not quote the file, because it contains keys.
    const why = error instanceof z.ZodError || error instanceof SyntaxError ? 'it is damaged' : messageOf(error)
    log.warn({ file, error: why }, 'gateway: the saved routing table is ignored')
    return undefined
  }
}
