const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  b: 1,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  tb: 1e12,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
  tib: 2 ** 40,
}

/** Reads sizes as people write them: `12GB`, `12.5 GiB`, `12884901888`, `0`. Undefined for anything else. */
export function parseBytes(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)\s*([a-z]*)$/i.exec(text.trim())
  if (!match) return undefined
  const [, digits, unit] = match as unknown as [string, string, string]
  const number = Number(digits)
  const factor = UNITS[unit.toLowerCase()]
  if (factor === undefined || (factor === 1 && !Number.isInteger(number))) return undefined
  const bytes = Math.floor(number * factor)
  return Number.isSafeInteger(bytes) ? bytes : undefined
}

const SHOWN = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const

/** `512 B`, `3.4 MiB`, `4.1 GiB`: for sizes that may be anything. */
export function formatBytes(bytes: number): string {
  const step = bytes < 1 ? 0 : Math.min(SHOWN.length - 1, Math.floor(Math.log2(bytes) / 10))
  return `${(bytes / 2 ** (10 * step)).toFixed(step === 0 ? 0 : 1)} ${SHOWN[step]}`
}
