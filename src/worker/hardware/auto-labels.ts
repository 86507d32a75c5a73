import type { Hardware } from './hardware.ts'

const GIB = 1024 ** 3

/**
 * Labels that follow from the machine, for selectors:
 * - `gpu.vendor`: `nvidia`, `amd`, `intel` or `apple`; absent without a GPU.
 * - `gpu.vram`: total memory of all devices added up in bytes, then rounded down to whole GiB (2^30 bytes), `24GiB`;
 *   for unified memory that is the RAM the GPU can use. It is what the driver reports, not what the box says: an
 *   RTX 3090 has 24576 MiB and gets `24GiB`, an RTX 4090 has 24564 MiB and gets `23GiB`. Absent when less than 1 GiB is
 *   known. Free memory does not count, so the label does not change while models come and go.
 */
export function autoLabels(hardware: Pick<Hardware, 'gpu_vendor' | 'devices'>): Record<string, string> {
  if (hardware.gpu_vendor === null) return {}
  const totalBytes = hardware.devices.reduce((sum, { total_vram }) => sum + total_vram, 0)
  const wholeGib = Math.floor(totalBytes / GIB)
  return { 'gpu.vendor': hardware.gpu_vendor, ...(wholeGib > 0 && { 'gpu.vram': `${wholeGib}GiB` }) }
}
