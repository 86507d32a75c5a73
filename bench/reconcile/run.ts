import { checkPlan } from '../../src/core/reconcile/check-plan.ts'
import { reconcile } from '../../src/core/reconcile/reconcile.ts'
import type { World } from '../../src/core/types.ts'
import { bigWorld, withoutNode, withoutOne } from './big-world.ts'
import { scanPlan } from './scan-plan.ts'

/**
 * What a pass over the whole cluster costs, and how that grows: nodes with eight cards each, a rule for every ten of them
 * and five replicas on each. Beside it the plain way, which looks through everything for each rule and each placement.
 */
const SIZES = [100, 1000, 10_000]
const EACH_MS = 1000
const LIMIT_MS = 500

const cases: readonly (readonly [name: string, change: (world: World) => World, starts: number])[] = [
  ['all as it should be', (world) => world, 0],
  ['one replica is lost', withoutOne, 1],
  ['one node is lost', withoutNode, 5],
]

let slowest = 0
for (const nodes of SIZES) {
  const before = bigWorld(nodes)
  console.log(
    `${nodes} nodes, ${before.rules.length} rules, ${before.replicas.length} replicas; processor time of a pass`,
  )
  for (const [name, change, starts] of cases) measureCase(name, change(before), starts)
  console.log()
}
if (slowest > LIMIT_MS) {
  console.error(`a pass took ${slowest.toFixed(0)} ms, more than ${LIMIT_MS} ms`)
  process.exitCode = 1
}

/** A pass that did nothing would be fast as well. */
function measureCase(name: string, world: World, starts: number): void {
  const plan = reconcile(world)
  const isRight = plan.steps.filter(({ kind }) => kind === 'reserve').length === starts && scanPlan(world) === starts
  if (!isRight || plan.unmet.length > 0 || checkPlan(world, plan).length > 0) throw new Error(`${name}: a wrong plan`)
  const planned = measureMs(() => void reconcile(world))
  const checked = measureMs(() => void checkPlan(world, plan))
  // Slow enough that two runs tell.
  const scanned = measureMs(() => void scanPlan(world), 2)
  slowest = Math.max(slowest, planned + checked)
  const ratio = `${(scanned / planned).toPrecision(2)} times the plan`
  console.log(`  ${name.padEnd(22)}plan ${ms(planned)}   check ${ms(checked)}   plain scan ${ms(scanned)} (${ratio})`)
}

/**
 * Processor time, of the garbage collector's threads as well, that one run in ten stays below: others use the machine,
 * and their time is not ours.
 */
function measureMs(act: () => void, least = 5): number {
  const times: number[] = []
  const endMs = performance.now() + EACH_MS
  while (performance.now() < endMs || times.length < least) {
    const start = process.cpuUsage()
    act()
    const { user, system } = process.cpuUsage(start)
    times.push((user + system) / 1000)
  }
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 10)]!
}

function ms(value: number): string {
  return `${value.toFixed(value < 10 ? 2 : 0).padStart(6)} ms`
}
