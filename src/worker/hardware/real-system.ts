import { execFile } from 'node:child_process'
import fs from 'node:fs/promises'
import os from 'node:os'
import { messageOf } from '../../platform/errors.ts'
import type { Space } from './hardware.ts'
import type { Ran, RunLimits, System } from './system.ts'

/** The machine this process runs on. */
export const realSystem: System = {
  platform: process.platform,
  arch: process.arch,
  run,
  readFile,
  async list(folder) {
    try {
      return await fs.readdir(folder)
    } catch {
      return null
    }
  },
  statfs,
  memory: () => ({ totalBytes: os.totalmem(), availableBytes: process.availableMemory?.() ?? os.freemem() }),
}

/**
 * Settles when the program is really gone. One that hangs inside a driver survives even SIGKILL: its promise stays
 * open, so that the caller does not start another.
 */
function run(program: string, args: readonly string[], { timeoutMs, maxBytes }: RunLimits): Promise<Ran> {
  return new Promise((resolve) => {
    const options = {
      timeout: timeoutMs,
      maxBuffer: maxBytes,
      killSignal: 'SIGKILL' as const,
      encoding: 'utf8' as const,
      windowsHide: true,
      // Fixes the format of numbers and messages for the parsers, whatever the machine's language.
      env: { ...process.env, LC_ALL: 'C' },
    }
    const child = execFile(program, [...args], options, (error, stdout, stderr) => {
      if (!error) resolve({ kind: 'exited', code: 0, stdout, stderr })
      else if (error.code === 'ENOENT' || error.code === 'EACCES') resolve({ kind: 'missing' })
      else if (error.killed) resolve({ kind: 'failed', why: `${program} took longer than ${timeoutMs} ms` })
      else if (typeof error.code === 'number') resolve({ kind: 'exited', code: error.code, stdout, stderr })
      else resolve({ kind: 'failed', why: `${program}: ${error.signal ?? messageOf(error)}` })
    })
    child.stdin?.end()
  })
}

/** Not `fs.readFile`: files of /proc and /sys report a size of 0, and this read has a limit. */
async function readFile(path: string, maxBytes: number): Promise<string | null> {
  let file: fs.FileHandle | undefined
  try {
    file = await fs.open(path)
    const buffer = Buffer.alloc(maxBytes)
    let filled = 0
    while (filled < maxBytes) {
      const { bytesRead } = await file.read(buffer, filled, maxBytes - filled, filled)
      if (bytesRead === 0) break
      filled += bytesRead
    }
    return buffer.toString('utf8', 0, filled)
  } catch {
    return null
  } finally {
    await file?.close()
  }
}

async function statfs(path: string): Promise<Space | null> {
  try {
    const { bsize, blocks, bavail } = await fs.statfs(path)
    // `bavail`, not `bfree`: blocks reserved for root are not for models.
    return { totalBytes: blocks * bsize, availableBytes: bavail * bsize }
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) return null
    throw error
  }
}
