import { checkPlan } from '../../src/core/reconcile/check-plan.ts'
import { Memory } from '../../src/core/reconcile/memory.ts'
import { reconcile } from '../../src/core/reconcile/reconcile.ts'
import type { World } from '../../src/core/types.ts'
import { bigWorld, withLabel, withoutNode, withoutOne } from './big-world.ts'
import { scanPlan } from './scan-plan.ts'
import { measureTurns } from './turns.ts'

/**
 * What a pass over the cluster costs, and how that grows: nodes with eight cards each, a rule for every ten of them and five
 * replicas on each. First a pass that knows nothing, over the whole world; beside it the plain way, which looks through
 * everything for each rule and each placement. Then one that remembers the last, after one event. Last a leader's turns
 * with the store: reading, planning, checking and writing.
 */
const SIZES = [100, 1000, 10_000]
const EACH_MS = 1000
const WHOLE_LIMIT_MS = 500
const EVENT_LIMIT_MS = 10

const cases: readonly (readonly [name: string, change: (world: World) => World, starts: number])[] = [
  ['all as it should be', (world) => world, 0],
  ['one replica is lost', withoutOne, 1],
  ['one node is lost', withoutNode, 5],
]
const events = [...cases, ['one label is changed', withLabel, 0] as const]

let isTooSlow = false
for (const nodes of SIZES) {
  const before = bigWorld(nodes)
  console.log(
    `${nodes} nodes, ${before.rules.length} rules, ${before.replicas.length} replicas; processor time of a pass`,
  )
  for (const [name, change, starts] of cases) measureWhole(name, change(before), starts)
  for (const [name, change, starts] of events) measureEvent(name, before, change(before), starts)
  const { wholeMs, idleMs, eventMs } = await measureTurns(nodes)
  console.log(
    `  turns on SQLite       whole${ms(wholeMs)}   nothing new ${ms(idleMs)}   one replica is lost ${ms(eventMs)}`,
  )
  console.log()
}
if (isTooSlow) process.exitCode = 1

function measureWhole(name: string, world: World, starts: number): void {
  const plan = rightPlan(name, world, starts)
  if (scanPlan(world) !== starts) throw new Error(`${name}: the plain scan is wrong`)
  const planned = measureMs(() => void reconcile(world))
  const checked = measureMs(() => void checkPlan(world, plan))
  // Slow enough that two runs tell.
  const scanned = measureMs(() => void scanPlan(world), { least: 2 })
  const ratio = `${(scanned / planned).toPrecision(2)} times the plan`
  console.log(`  ${name.padEnd(22)}plan ${ms(planned)}   check ${ms(checked)}   plain scan ${ms(scanned)} (${ratio})`)
  judge(name, planned + checked, WHOLE_LIMIT_MS)
}

/** Each time the event is undone in between, which is not counted. */
function measureEvent(name: string, before: World, after: World, starts: number): void {
  const plan = rightPlan(name, after, starts)
  const memory = new Memory()
  const undo = (): void => void reconcile(before, 'spread', memory)
  // One that has placed something knows what is free.
  reconcile(withoutOne(before), 'spread', memory)
  undo()
  const planned = measureMs(() => void reconcile(after, 'spread', memory), { undo })
  const checked = measureMs(() => void checkPlan(after, plan))
  console.log(`  … after that event    plan ${ms(planned)}   check ${ms(checked)}   (${name})`)
  judge(name, planned + checked, EVENT_LIMIT_MS)
}

/** A pass that did nothing would be fast as well. */
function rightPlan(name: string, world: World, starts: number): ReturnType<typeof reconcile> {
  const plan = reconcile(world)
  const isRight = plan.steps.filter(({ kind }) => kind === 'reserve').length === starts
  if (!isRight || plan.unmet.length > 0 || checkPlan(world, plan).length > 0) throw new Error(`${name}: a wrong plan`)
  return plan
}

function judge(name: string, tookMs: number, limitMs: number): void {
  if (tookMs <= limitMs) return
  console.error(`${name}: a pass took ${tookMs.toFixed(1)} ms, more than ${limitMs} ms`)
  isTooSlow = true
}

/**
 * Processor time, of the garbage collector's threads as well, that one run in ten stays below: others use the machine,
 * and their time is not ours.
 */
function measureMs(act: () => void, { least = 5, undo = (): void => {} } = {}): number {
  const times: number[] = []
  const endMs = performance.now() + EACH_MS
  while (performance.now() < endMs || times.length < least) {
    const start = process.cpuUsage()
    act()
    const { user, system } = process.cpuUsage(start)
    times.push((user + system) / 1000)
    undo()
  }
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 10)]!
}

function ms(value: number): string {
  return `${value.toFixed(value < 10 ? 2 : 0).padStart(6)} ms`
}
