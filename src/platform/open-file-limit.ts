import { readFileSync } from 'node:fs'

/** Fewer are used up soon: each client, stream and engine takes some. */
export const ENOUGH_OPEN_FILES = 4096

/** How many files and connections this process may open. Undefined where the system does not say. */
export function openFileLimit(read = readLimits): number | undefined {
  const match = /^Max open files\s+(\d+)/m.exec(read())
  return match ? Number(match[1]) : undefined
}

/** A warning and its remedy when the limit is too low. */
export function lowFileLimit(read = readLimits): { text: string; advice: string } | undefined {
  const limit = openFileLimit(read)
  if (limit === undefined || limit >= ENOUGH_OPEN_FILES) return undefined
  return {
    text: `This process may open ${limit} files and connections; ${ENOUGH_OPEN_FILES} or more are recommended.`,
    advice:
      'Raise it: "ulimit -n 65536" before the start, LimitNOFILE=65536 in a systemd unit, or --ulimit nofile=65536 of docker.',
  }
}

function readLimits(): string {
  try {
    return readFileSync('/proc/self/limits', 'utf8')
  } catch {
    return ''
  }
}
