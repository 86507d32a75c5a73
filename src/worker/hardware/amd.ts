import { listCards, type Card } from './drm.ts'
import type { Edge } from './edge.ts'
import type { Found, Reading } from './hardware.ts'
import { MOST_FILE_BYTES, readLine, type System } from './system.ts'
import { findWithRocmSmi } from './rocm-smi.ts'
import { wholeNumber } from './whole-number.ts'

/** Asks the kernel first: it works without ROCm, takes a millisecond, and knows how much RAM an APU may use. */
export async function findAmd(edge: Edge): Promise<Reading<Found[]>> {
  const cards = await listCards(edge.system)
  const own = cards?.filter(({ vendor }) => vendor === '0x1002')
  // rocm-smi is a Python program that takes some hundred ms; without a card there is nothing to ask it.
  if (own?.length === 0) return { ok: true, value: [] }
  const facts = await Promise.all((own ?? []).map((card) => readCard(edge, card)))
  const value = facts.flatMap((fact, index) => (fact === null ? [] : [toFound(fact, index)]))
  if (value.length === 0) return findWithRocmSmi(edge.tools)
  return { ok: true, value: preferCards(value) }
}

/** What sysfs says of one card, in bytes. */
export interface AmdFacts {
  name: string
  uniqueId: string | null
  pciAddress: string | null
  vramTotal: number
  vramUsed: number | null
  gttTotal: number | null
  gttUsed: number | null
  /** Whether the driver measures how busy the memory is; it does for every card and for no APU (but MI300A). */
  hasMemoryLoad: boolean
}

export function toFound(facts: AmdFacts, index: number): Found {
  const { name, uniqueId, pciAddress, vramTotal, vramUsed, gttTotal, gttUsed } = facts
  // ROCm accepts this name wherever it accepts an index.
  const uuid = uniqueId !== null ? `GPU-${uniqueId}` : pciAddress !== null ? `pci-${pciAddress}` : `amd-${index}`
  const freeBytes = vramUsed === null ? null : Math.max(0, vramTotal - vramUsed)
  // GTT is the RAM that a GPU may use, about half by default, and cards have it too; only an APU can compute in it at
  // speed. An APU to which the BIOS gives more than that (96 GiB of a Strix Halo's 128, say) has all it needs as its
  // own memory.
  const isApu = uniqueId === null && !facts.hasMemoryLoad && gttTotal !== null && gttTotal > vramTotal
  const shared = isApu ? { mostBytes: gttTotal, usedBytes: gttUsed ?? 0 } : null
  return { index, uuid, name, totalBytes: vramTotal, freeBytes, shared }
}

/** Beside a real card, the small GPU of a desktop processor drives the screen and is not used for models. */
function preferCards(found: Found[]): Found[] {
  const cards = found.filter(({ shared }) => shared === null)
  return cards.length > 0 ? cards : found
}

async function readCard({ system, facts }: Edge, { folder, pciAddress }: Card): Promise<AmdFacts | null> {
  const number = async (file: string): Promise<number | null> =>
    wholeNumber(await readLine(system, `${folder}/device/${file}`))
  const vramTotal = await number('mem_info_vram_total')
  if (vramTotal === null) return null
  const uniqueId = await readLine(system, `${folder}/device/unique_id`)
  return {
    name: (await facts.get(`amd name ${folder} ${pciAddress}`, () => readName(system, folder))) ?? 'AMD GPU',
    uniqueId: uniqueId !== null && /^(?!0+$)[0-9a-f]{1,32}$/i.test(uniqueId) ? uniqueId.toLowerCase() : null,
    pciAddress,
    vramTotal,
    vramUsed: await number('mem_info_vram_used'),
    gttTotal: await number('mem_info_gtt_total'),
    gttUsed: await number('mem_info_gtt_used'),
    // Listed, not read: reading it wakes a sleeping card, or fails while it sleeps.
    hasMemoryLoad: ((await system.list(`${folder}/device`)) ?? []).includes('mem_busy_percent'),
  }
}

/** Only server boards carry their name; libdrm's list names the others by their ids. */
async function readName(system: System, folder: string): Promise<string | null> {
  const product = await readLine(system, `${folder}/device/product_name`)
  if (product !== null) return product
  const device = await readLine(system, `${folder}/device/device`)
  const revision = await readLine(system, `${folder}/device/revision`)
  if (device === null) return null
  for (const list of ['/usr/share/libdrm/amdgpu.ids', '/opt/amdgpu/share/libdrm/amdgpu.ids']) {
    const name = findInIds((await system.readFile(list, MOST_FILE_BYTES)) ?? '', device, revision ?? '')
    if (name !== null) return name
  }
  return `AMD GPU ${device}`
}

/** A line is `744C,\tC8,\tAMD Radeon RX 7900 XTX`: device, revision, name. */
export function findInIds(ids: string, device: string, revision: string): string | null {
  const wanted = [device, revision].map((hex) => Number.parseInt(hex, 16))
  for (const line of ids.split('\n')) {
    const [first = '', second = '', ...name] = line.split(',')
    if (Number.parseInt(first, 16) === wanted[0] && Number.parseInt(second, 16) === wanted[1] && name.length > 0)
      return name.join(',').trim()
  }
  return null
}
