import { INTEL_INTEGRATED_AT } from './drm.ts'
import type { Facts } from './facts.ts'
import type { Found, Reading } from './hardware.ts'
import { asFields, asList, parseLooseJson, textOf, type Fields } from './loose-json.ts'
import { describeRan, type Tools } from './tools.ts'
import { wholeNumber } from './whole-number.ts'

const XPU_SMI = ['xpu-smi']
const MOST_DEVICES = 64
/** Each call is a process that initializes Level Zero; more at once would be a burst of load every few seconds. */
const AT_ONCE = 8
const MIB = 1024 * 1024

/** The list of cards is cached; their memory is read each time, one card a call, as the tool requires. */
export async function findWithXpuSmi(tools: Tools, facts: Facts): Promise<Reading<Found[]>> {
  let why = ''
  const listed = await facts.get('intel cards', async () => {
    const ran = await tools.run(XPU_SMI, ['discovery', '-j'])
    const cards = ran.kind === 'exited' ? parseDiscovery(ran.stdout) : []
    why = describeRan('xpu-smi', ran)
    return cards.length > 0 ? cards : null
  })
  if (listed === null) return { ok: false, why }
  const value: Found[] = []
  for (let from = 0; from < listed.length; from += AT_ONCE) {
    const some = listed.slice(from, from + AT_ONCE).map((card) => measure(tools, card))
    value.push(...(await Promise.all(some)).filter((found) => found !== null))
  }
  return value.length > 0 ? { ok: true, value } : { ok: false, why: 'xpu-smi told no memory of any card' }
}

async function measure(tools: Tools, card: XpuCard): Promise<Found | null> {
  const ran = await tools.run(XPU_SMI, ['discovery', '-d', String(card.index), '-j'])
  const memory = ran.kind === 'exited' ? parseMemory(ran.stdout) : null
  if (memory === null) return null
  const { totalBytes, freeBytes } = memory
  const { index, name, pciAddress } = card
  const uuid = pciAddress === null ? `intel-${index}` : `pci-${pciAddress}`
  return {
    index,
    uuid,
    name,
    totalBytes,
    freeBytes: freeBytes ?? (await askStats(tools, card, totalBytes)),
    shared: null,
  }
}

/** Second choice: it samples for a second or more. */
async function askStats(tools: Tools, { index }: XpuCard, totalBytes: number): Promise<number | null> {
  const ran = await tools.run(XPU_SMI, ['stats', '-d', String(index), '-j'])
  const usedBytes = ran.kind === 'exited' ? parseStats(ran.stdout) : null
  return usedBytes === null ? null : Math.max(0, totalBytes - usedBytes)
}

export interface XpuCard {
  index: number
  name: string
  pciAddress: string | null
}

/** `xpu-smi discovery -j`: `{"device_list": [{"device_id": 0, "device_name": …, "pci_bdf_address": …}]}`. */
export function parseDiscovery(output: string): XpuCard[] {
  const parsed = parseLooseJson(output)
  const list = Array.isArray(parsed) ? parsed : asList(asFields(parsed)?.['device_list'])
  return list.slice(0, MOST_DEVICES).flatMap((entry, position) => {
    const fields = asFields(entry)
    if (fields === null) return []
    const index = wholeNumber(textOf(fields, ['device_id'])) ?? position
    const pciAddress = textOf(fields, ['pci_bdf_address'])?.toLowerCase() ?? null
    if (pciAddress === INTEL_INTEGRATED_AT) return []
    return { index, name: textOf(fields, ['device_name', 'name']) ?? 'Intel GPU', pciAddress }
  })
}

/** `xpu-smi discovery -d 0 -j`: the properties of one card, sizes in bytes as strings; "N/A" without the permission. */
export function parseMemory(output: string): { totalBytes: number; freeBytes: number | null } | null {
  const fields = asFields(parseLooseJson(output))
  if (fields === null) return null
  const totalBytes = sizeOf(fields, 'memory_physical_size')
  if (totalBytes === null || totalBytes === 0) return null
  return { totalBytes, freeBytes: sizeOf(fields, 'memory_free_size') }
}

/** `xpu-smi stats -d 0 -j`: a list of metrics; memory used is in MiB, over all tiles. */
export function parseStats(output: string): number | null {
  const levels = asFields(parseLooseJson(output))
  for (const entry of asList(levels?.['device_level'])) {
    const fields = asFields(entry)
    if (fields?.['metrics_type'] !== 'XPUM_STATS_MEMORY_USED') continue
    const mebibytes = Number(textOf(fields, ['value']) ?? Number.NaN)
    return mebibytes >= 0 && mebibytes < 2 ** 33 ? Math.round(mebibytes * MIB) : null
  }
  return null
}

/** Releases differ: bytes in `…_byte`, or MiB with a unit in the plain field. */
function sizeOf(fields: Fields, name: string): number | null {
  const bytes = wholeNumber(textOf(fields, [`${name}_byte`]))
  if (bytes !== null) return bytes
  const mebibytes = /^(\d{1,12}(?:\.\d+)?)\s*MiB$/.exec(textOf(fields, [name]) ?? '')?.[1]
  return mebibytes === undefined ? null : Math.round(Number(mebibytes) * MIB)
}
