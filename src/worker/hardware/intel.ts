import { INTEL_INTEGRATED_AT, listCards, type Card } from './drm.ts'
import type { Edge } from './edge.ts'
import type { Found, Reading } from './hardware.ts'
import { readLine, type System } from './system.ts'
import { wholeNumber } from './whole-number.ts'
import { findWithXpuSmi } from './xpu-smi.ts'

/** Asks the tool first: the kernel reports how much memory a card has, but not how much of it is free. */
export async function findIntel({ system, tools, facts }: Edge): Promise<Reading<Found[]>> {
  const cards = await listCards(system)
  const own = cards?.filter(({ vendor, pciAddress }) => vendor === '0x8086' && pciAddress !== INTEL_INTEGRATED_AT)
  if (own?.length === 0) return { ok: true, value: [] }
  const asked = await findWithXpuSmi(tools, facts)
  if (asked.ok || !own) return asked
  const found = await Promise.all(own.map((card, index) => readCard(system, card, index)))
  const value = found.filter((card) => card !== null)
  return value.length > 0 ? { ok: true, value } : asked
}

async function readCard(system: System, { folder, pciAddress }: Card, index: number): Promise<Found | null> {
  const totalBytes = await readMemory(system, folder)
  if (totalBytes === null || totalBytes === 0) return null
  const device = await readLine(system, `${folder}/device/device`)
  const uuid = pciAddress === null ? `intel-${index}` : `pci-${pciAddress}`
  const free = await firstNumber(system, [`${folder}/lmem_avail_bytes`, `${folder}/device/lmem_avail_bytes`])
  return { index, uuid, name: `Intel GPU ${device ?? ''}`.trim(), totalBytes, freeBytes: free, shared: null }
}

/** Intel's own i915 has `lmem_total_bytes`, xe has it for each tile; i915 of mainline kernels has neither. */
async function readMemory(system: System, folder: string): Promise<number | null> {
  const whole = await firstNumber(system, [`${folder}/lmem_total_bytes`, `${folder}/device/lmem_total_bytes`])
  if (whole !== null) return whole
  const names = (await system.list(`${folder}/device`)) ?? []
  const tiles = names.filter((name) => /^tile\d$/.test(name))
  const sizes = await Promise.all(
    tiles.map((tile) => readLine(system, `${folder}/device/${tile}/physical_vram_size_bytes`)),
  )
  return sizes.reduce<number | null>((sum, size) => {
    const bytes = wholeNumber(size)
    return bytes === null ? sum : (sum ?? 0) + bytes
  }, null)
}

async function firstNumber(system: System, paths: readonly string[]): Promise<number | null> {
  for (const path of paths) {
    const number = wholeNumber(await readLine(system, path))
    if (number !== null) return number
  }
  return null
}
