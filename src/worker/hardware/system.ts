import type { Space } from './hardware.ts'

/** Everything that hardware detection asks of the operating system, so that tests can describe any machine. */
export interface System {
  /** Node's names: linux, darwin, win32; x64, arm64. */
  readonly platform: string
  readonly arch: string
  /** Runs a program without a shell. Never rejects; kills a program that exceeds the limits of time or output. */
  run(program: string, args: readonly string[], limits: RunLimits): Promise<Ran>
  /** At most `maxBytes` from the start of a file; null when it cannot be read, for any reason. */
  readFile(path: string, maxBytes: number): Promise<string | null>
  /** Names in a folder; null when it cannot be read. */
  list(folder: string): Promise<string[] | null>
  /** The file system that holds `path`; null when the path does not exist. Rejects when the query fails. */
  statfs(path: string): Promise<Space | null>
  /** The runtime's own figure of the machine's RAM. */
  memory(): Space
}

export interface RunLimits {
  timeoutMs: number
  maxBytes: number
}

export type Ran =
  | { kind: 'exited'; code: number; stdout: string; stderr: string }
  | { kind: 'missing' }
  | { kind: 'failed'; why: string }

/** Enough for every file read here; the longest is libdrm's list of AMD names with about 30 KiB. */
export const MOST_FILE_BYTES = 128 * 1024

/** First line of a small file without its line end; null when it is missing or empty. */
export async function readLine(system: System, path: string): Promise<string | null> {
  const text = await system.readFile(path, 4096)
  // Strings of the device tree end with a NUL.
  const line = text?.split('\n', 1)[0]!.replaceAll('\0', '').trim()
  return line ? line : null
}
