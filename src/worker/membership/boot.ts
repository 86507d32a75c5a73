import { randomUUID } from 'node:crypto'
import { readFileSync, rmSync } from 'node:fs'
import { z } from 'zod'
import { writeWhole } from '../../platform/write-whole.ts'

/**
 * One boot of a node, as the cluster sees it: while it lasts, engines from before a restart of the worker may still
 * run.
 */
export interface Boot {
  readonly id: string
  /** True when an earlier run of the worker on this boot ended without a goodbye. */
  readonly isResumed: boolean
  /**
   * The number of the next heartbeat. Numbers grow over restarts: of two heartbeats of a boot, the higher number is
   * newer.
   */
  nextSeq(): number
  /** Returns it and counts on. */
  takeSeq(): number
  /** The worker ended in order and left nothing running: the next start is a new boot. */
  end(): void
}

/** How many numbers are recorded as used at a time, so that not every heartbeat writes to the disk. */
const SEQ_BLOCK = 1000

const record = z.object({ machine_boot: z.string(), boot_id: z.string().min(1), seq_reserved: z.int().nonnegative() })

/**
 * Continues the boot in `file` if the machine has not been restarted since; else begins a new one. `isClean` always
 * begins a new one.
 */
export function openBoot(file: string, machineBoot: string, isClean = false, disk: BootDisk = realDisk): Boot {
  const before = isClean ? undefined : readRecord(disk, file, machineBoot)
  const id = before?.boot_id ?? randomUUID()
  let seq = before?.seq_reserved ?? 0
  let reserved = seq
  return {
    id,
    isResumed: before !== undefined,
    nextSeq: () => seq + 1,
    takeSeq() {
      seq += 1
      if (
        seq > reserved &&
        tryToWrite(disk, file, { machine_boot: machineBoot, boot_id: id, seq_reserved: seq + SEQ_BLOCK })
      ) {
        reserved = seq + SEQ_BLOCK
      }
      return seq
    },
    end: () => disk.remove(file),
  }
}

/** Disk access; `read` and `write` throw when they fail. */
export interface BootDisk {
  read(file: string): string
  write(file: string, text: string): void
  remove(file: string): void
}

const realDisk: BootDisk = {
  read: (file) => readFileSync(file, 'utf8'),
  write: writeWhole,
  remove: (file) => rmSync(file, { force: true }),
}

/** An unreadable file counts as missing: a new boot loses only the chance to adopt engines. */
function readRecord(disk: BootDisk, file: string, machineBoot: string): z.infer<typeof record> | undefined {
  try {
    const parsed = record.parse(JSON.parse(disk.read(file)))
    return parsed.machine_boot === machineBoot ? parsed : undefined
  } catch {
    return undefined
  }
}

/** A full disk must not silence the node; the next heartbeat tries again. */
function tryToWrite(disk: BootDisk, file: string, content: z.infer<typeof record>): boolean {
  try {
    disk.write(file, `${JSON.stringify(content)}\n`)
    return true
  } catch {
    return false
  }
}
