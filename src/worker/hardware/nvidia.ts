import type { Edge } from './edge.ts'
import type { Found, Reading } from './hardware.ts'
import { readLine } from './system.ts'
import { describeRan } from './tools.ts'
import { times, wholeNumber } from './whole-number.ts'

/** Under WSL the tool is outside the PATH of services. */
export const NVIDIA_SMI = ['nvidia-smi', '/usr/lib/wsl/lib/nvidia-smi']
const QUERY = ['--query-gpu=index,uuid,name,memory.total,memory.used,memory.free', '--format=csv,noheader,nounits']
const MIB = 1024 * 1024

export async function findNvidia({ system, tools }: Edge): Promise<Reading<Found[]>> {
  const ran = await tools.run(NVIDIA_SMI, QUERY)
  if (ran.kind === 'exited') {
    const value = parseNvidiaSmi(ran.stdout)
    // If one of several GPUs is lost, the tool fails although it lists the others.
    if (value.length > 0 || ran.code === 0) return { ok: true, value }
  }
  if (ran.kind === 'missing' && (await readLine(system, '/sys/devices/soc0/family')) === 'Tegra') {
    // Jetsons before JetPack 6 have no nvidia-smi.
    const name = (await readLine(system, '/proc/device-tree/model')) ?? 'NVIDIA Tegra'
    return { ok: true, value: [{ ...allOfRam, index: 0, uuid: 'nvidia-0', name }] }
  }
  return { ok: false, why: describeRan('nvidia-smi', ran) }
}

const allOfRam = { totalBytes: 0, freeBytes: 0, shared: { mostBytes: Infinity, usedBytes: 0 } }

/**
 * Lines of `index, uuid, name, total, used, free` in MiB. All other lines are skipped: warnings about the infoROM or
 * the driver, headers, lines about MIG slices (a GPU split by MIG is reported whole, as the tool reports it).
 */
export function parseNvidiaSmi(output: string): Found[] {
  return output.split('\n').flatMap((line) => parseRow(line) ?? [])
}

function parseRow(line: string): Found | null {
  const cells = line.split(',').map((cell) => cell.trim())
  const index = wholeNumber(cells[0])
  if (cells.length < 6 || index === null || index > 9999) return null
  // Any further commas belong to the name.
  const name = cells.slice(2, -3).join(', ')
  const uuid = isAbsent(cells[1]!) ? `nvidia-${index}` : cells[1]!
  const [total, used, free] = cells.slice(-3) as [string, string, string]
  if (isAbsent(total) && !isCard.test(name)) return { ...allOfRam, index, uuid, name }
  const totalBytes = mebibytes(total) ?? 0
  const usedBytes = mebibytes(used)
  // Free is not total less used: the driver keeps some for itself (615 MiB of an idle H200).
  const freeBytes = mebibytes(free) ?? (usedBytes === null ? null : Math.max(0, totalBytes - usedBytes))
  return { index, uuid, name, totalBytes, freeBytes: totalBytes === 0 ? null : freeBytes, shared: null }
}

/** What Jetson, Thor and GB10 print for memory, because it is the machine's. Errors (a lost GPU) look different. */
function isAbsent(cell: string): boolean {
  return /^\[?(n\/a|not supported)\]?$/i.test(cell)
}

/**
 * Cards with their own memory sometimes lack a figure, too, such as a slice of an A100 in a container. Taking the
 * machine's RAM for theirs would place models that cannot fit, so their memory is unknown instead.
 */
const isCard = /\b(geforce|rtx|gtx|quadro|tesla|titan|mig|[abhklmptv]\d{1,4}\w*)\b/i

function mebibytes(cell: string): number | null {
  return times(wholeNumber(cell.endsWith('MiB') ? cell.slice(0, -3) : cell), MIB)
}
