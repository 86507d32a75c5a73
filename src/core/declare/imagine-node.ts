import { parseBytes } from '../lib/bytes.ts'
import { effectiveLabels } from '../nodes/labels.ts'
import type { Device, Node, NodeEngine, World } from '../types.ts'

export const NODE_SPECS = 'expected GPUs such as 24GB, 2x24GB or 8x80GiB, or cpu for a machine without any'

export interface NodeIdea {
  spec: string
  name: string
  labels: Readonly<Record<string, string>>
}

const MOST_DEVICES = 64
const SLOTS = 1
/** GPUs of one kind differ a little in what they say they have. */
const ALIKE = 0.1

/** A machine as it might be bought: empty, and with every engine that the models need. Undefined when the spec is none. */
export function imagineNode(world: World, { spec, name, labels }: NodeIdea): Node | undefined {
  const devices = readDevices(world, spec)
  if (!devices) return undefined
  const chosen = Object.entries(labels).map(([key, value]) => ({ key, value, source: 'admin' as const }))
  return {
    id: `imagined ${name}`,
    name,
    address: '',
    approved: true,
    desired: 'active',
    liveness: 'online',
    livenessSinceMs: world.nowMs,
    bootId: 'imagined',
    saidGoodbye: false,
    isHeard: true,
    nodeType: 'backend',
    maxReplicasPerModel: SLOTS,
    labels: Object.fromEntries(effectiveLabels(chosen, SLOTS).map(({ key, value }) => [key, value])),
    availableVram: null,
    devices,
    vramBudget: null,
    // The spec does not say; an unknown figure refuses nothing.
    totalRam: null,
    availableRam: null,
    totalDisk: null,
    availableDisk: null,
    freed: [],
    engines: enginesOf(world, devices.length > 0),
  }
}

function readDevices(world: World, spec: string): Device[] | undefined {
  if (spec.trim().toLowerCase() === 'cpu') return []
  const match = /^(?:(\d{1,3})\s*x\s*)?(\S.*)$/i.exec(spec.trim())
  const count = Number(match?.[1] ?? 1)
  const totalVram = parseBytes(match?.[2] ?? '')
  if (totalVram === undefined || totalVram === 0 || count === 0 || count > MOST_DEVICES) return undefined
  const name = kindLike(world, totalVram)
  return Array.from({ length: count }, (_, index) => ({
    index,
    name,
    totalVram,
    availableVram: null,
    unified: false,
  }))
}

/** Of the kind that there is already, if one is about as large: what was learned on it holds for the new one, too. */
function kindLike({ nodes }: World, totalVram: number): string {
  const known = nodes.flatMap(({ devices }) => devices)
  return known.find((device) => Math.abs(device.totalVram - totalVram) <= ALIKE * totalVram)?.name ?? 'GPU'
}

/** As they are where they run now, preferably on a machine of the same sort. */
function enginesOf({ models, nodes }: World, hasGpu: boolean): Record<string, NodeEngine> {
  const likely = nodes.toSorted((a, b) => unlike(a, hasGpu) - unlike(b, hasGpu))
  return Object.fromEntries(
    models.map(({ engine }) => {
      const known = likely.flatMap(({ engines }) => (Object.hasOwn(engines, engine) ? [engines[engine]!] : []))
      const found = known.find(({ whyNot }) => whyNot === null) ?? known[0] ?? UNSEEN
      return [engine, { ...found, whyNot: null }]
    }),
  )
}

function unlike({ devices }: Node, hasGpu: boolean): number {
  return devices.length > 0 === hasGpu ? 0 : 1
}

const UNSEEN: NodeEngine = { whyNot: null, version: null, memory: 'on_load', uses: { device: 'either' } }
