const GIB = 1024 ** 3
const MIB = 1024 ** 2
const TIB = 1024 ** 4

/** `4.7 GB` from one on, else whole `MB`; `0` for nothing. */
export function bytesText(bytes: number | null | undefined): string {
  if (!bytes) return '0'
  if (bytes >= 10 * TIB) return `${(bytes / TIB).toFixed(1)} TB`
  if (bytes >= GIB) return `${(bytes / GIB).toFixed(1)} GB`
  return `${Math.max(1, Math.round(bytes / MIB))} MB`
}

/** `4.7 GB / 7.5 GB`; a dash when nobody knows how much is in use. */
export function usedOf(total: number, available: number | null): string {
  return available === null ? `– / ${bytesText(total)}` : `${bytesText(total - available)} / ${bytesText(total)}`
}
