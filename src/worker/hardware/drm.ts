import { readLine, type System } from './system.ts'

/** A graphics card as the Linux kernel lists it. */
export interface Card {
  /** Its folder, `/sys/class/drm/card0`. */
  folder: string
  vendor: string
  /** Its PCI address, `0000:03:00.0`; null when it is not on a PCI bus. */
  pciAddress: string | null
}

const DRM = '/sys/class/drm'

/** The address of Intel's integrated GPU in every processor so far; that GPU has no memory of its own. */
export const INTEL_INTEGRATED_AT = '0000:00:02.0'

const MOST_CARDS = 128

/** All cards in the kernel's order; null when the kernel does not even have a folder for them. */
export async function listCards(system: System): Promise<Card[] | null> {
  const names = await system.list(DRM)
  if (names === null) return null
  // Connectors (card0-DP-1) and render nodes (renderD128) are in the same folder.
  const numbers = names.flatMap((name) => /^card(\d{1,4})$/.exec(name)?.[1] ?? []).map(Number)
  const sorted = numbers.toSorted((a, b) => a - b).slice(0, MOST_CARDS)
  const cards = await Promise.all(sorted.map((number) => readCard(system, `${DRM}/card${number}`)))
  return cards.filter((card) => card !== null)
}

async function readCard(system: System, folder: string): Promise<Card | null> {
  const vendor = await readLine(system, `${folder}/device/vendor`)
  if (vendor === null) return null
  const uevent = await system.readFile(`${folder}/device/uevent`, 4096)
  const pciAddress = /^PCI_SLOT_NAME=(\S+)$/m.exec(uevent ?? '')?.[1] ?? null
  return { folder, vendor: vendor.toLowerCase(), pciAddress }
}
