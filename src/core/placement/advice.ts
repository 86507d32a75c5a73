import { formatBytes } from '../lib/bytes.ts'
import type { Node, Selector } from '../types.ts'
import type { Fleet } from './fleet.ts'
import { NO_GPU, type Judge } from './judge.ts'
import { Room } from './room.ts'
import { isAbsence, isNegated, labelOf, mismatchOf } from '../nodes/selector.ts'
import type { Advice, Refusal } from './types.ts'

/** A person reads no more than these. */
const MOST_ADVICE = 5
/** Each candidate is checked to be enough by itself; further ones are hardly better. */
const MOST_CHECKED = 500

/** Changes that would let a node take it, each of them enough by itself. Acts of an admin come first, then by bytes. */
export function adviseOn(judge: Judge, fleet: Fleet, refusals: readonly Refusal[]): Advice[] {
  if (refusals.length === 0) return [{ nodeId: null, nodeName: null, text: 'add a node: there is none' }]
  const candidates = refusals
    .map((refusal) => ({ refusal, rank: rankOf(refusal), short: shortOf(refusal) }))
    .filter(({ rank }) => rank !== undefined)
    // Equal ones stay in the order of the nodes' names.
    .toSorted((a, b) => a.rank! - b.rank! || a.short - b.short)
  const advice: Advice[] = []
  for (const { refusal } of candidates.slice(0, MOST_CHECKED)) {
    if (advice.length === MOST_ADVICE) break
    const text = adviceFor(judge, fleet.roomOf(refusal.nodeId)!, refusal)
    if (text !== undefined) advice.push({ nodeId: refusal.nodeId, nodeName: refusal.nodeName, text })
  }
  return advice.length > 0 ? advice : adviseNewNode(refusals)
}

/** Lower is cheaper; undefined when nothing that a person does about this node would help. */
function rankOf({ filter, where }: Refusal): number | undefined {
  switch (filter) {
    case 'active':
      return 0
    case 'approved':
      return 1
    case 'slot':
      return 2
    case 'selector':
      return 3
    case 'memory':
      return where === 'vram budget' ? 4 : 5
    case 'disk':
      return 5
    case 'anti_affinity':
      return 6
    case 'engine':
      return 7
    case 'online':
      return 8
    case 'backend':
    case 'failing':
      return undefined
  }
}

function shortOf({ filter, needed, available }: Refusal): number {
  if (filter !== 'memory' && filter !== 'disk') return 0
  return typeof needed === 'number' && typeof available === 'number' ? needed - available : Number.MAX_SAFE_INTEGER
}

/** Undefined when the node would still refuse it. */
function adviceFor(judge: Judge, room: Room, refusal: Refusal): string | undefined {
  const { nodeName: name, filter, available } = refusal
  if (filter === 'memory') return adviceForMemory(judge, room, refusal)
  if (filter === 'anti_affinity') return `unload ${available} from ${name}`
  if (!judge.seatIn(room, filter)) return undefined
  if (filter === 'approved') return `approve ${name}`
  if (filter === 'active') return `resume ${name}`
  if (filter === 'online') return `bring ${name} back: it is ${available}`
  if (filter === 'slot') return `raise the slots of ${name} to ${refusal.needed}`
  if (filter === 'disk') return `free ${formatBytes(shortOf(refusal))} of disk on ${name}`
  if (filter === 'selector') return adviceForLabels(judge.need.selector, room.node)
  return adviceForEngine(refusal)
}

/** All that differ: the refusal tells of the first only. */
function adviceForLabels(selector: Selector, { name, labels }: Node): string {
  const missing: string[] = []
  const unwanted: string[] = []
  for (const [key, wanted] of Object.entries(selector)) {
    if (!mismatchOf(Object.fromEntries([[key, wanted]]), labels)) continue
    const isUnwanted = isAbsence(key) || (typeof wanted === 'string' && isNegated(wanted))
    if (isUnwanted) unwanted.push(labelOf(key))
    else missing.push(`${key}=${typeof wanted === 'string' ? wanted : wanted[0]}`)
  }
  const acts = missing.length > 0 ? [`label ${name} ${missing.join(' ')}`] : []
  if (unwanted.length > 0) acts.push(`take the label ${unwanted.join(' and ')} off ${name}`)
  return acts.join(' and ')
}

function adviceForMemory(judge: Judge, room: Room, refusal: Refusal): string | undefined {
  const { nodeName: name, needed, available, where } = refusal
  if (where === 'vram budget') {
    const unbound = room.without([])
    unbound.vram = Infinity
    if (judge.seatIn(unbound)) return `raise the VRAM budget of ${name} by ${formatBytes(shortOf(refusal))}`
  }
  // On an empty node it would not fit either: there is nothing to free.
  if (!judge.seatIn(new Room(room.node, 'ignored'))) return undefined
  if (typeof needed === 'string') return where === 'ram' ? undefined : `free a whole gpu of ${name}`
  if (typeof available === 'string') return undefined
  const short = formatBytes(needed - available)
  if (where === 'ram') return `free ${short} of memory on ${name}`
  return where === 'vram budget' ? `free ${short} of VRAM on ${name}` : `free ${short} on ${where} of ${name}`
}

/** The worker says which program is missing; its other reasons speak for themselves. */
function adviceForEngine({ nodeName, needed, available }: Refusal): string {
  const program = /^the program (\S+) /.exec(String(available))?.[1]
  if (program !== undefined) return `install the program ${program} on ${nodeName}`
  return `make ${needed} run on ${nodeName}: ${available}`
}

/** The smallest that would do. */
function adviseNewNode(refusals: readonly Refusal[]): Advice[] {
  const add = (what: string): Advice[] => [{ nodeId: null, nodeName: null, text: `add a node with ${what}` }]
  const short = refusals.filter(({ filter, needed }) => filter === 'memory' && typeof needed === 'number')
  if (short.length === 0) return refusals.some(({ available }) => available === NO_GPU) ? add('a GPU') : []
  const { needed, where } = short.reduce((a, b) => (Number(a.needed) <= Number(b.needed) ? a : b))
  return add(`${formatBytes(Number(needed))} of free ${where === 'ram' ? 'memory' : 'VRAM'}`)
}
