import { formatBytes } from '../lib/bytes.ts'
import type { Claim } from '../types.ts'

/** For people: "5.2 GiB on gpu 0 and 300 MiB of memory, learned". */
export function describeClaim({ devices, ram, source, alone }: Claim, hasDevices: boolean): string {
  if (alone) return 'alone there, because its memory need is not known yet'
  const parts = devices.map(({ index, bytes }) => `${formatBytes(bytes)} on gpu ${index}`)
  if (ram > 0 || parts.length === 0) parts.push(`${formatBytes(ram)} of ${hasDevices ? "the machine's " : ''}memory`)
  return `${parts.join(' and ')} (${source})`
}
