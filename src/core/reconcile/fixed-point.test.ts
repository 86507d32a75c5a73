import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { execute } from '../declare/execute.ts'
import { mismatchOf } from '../nodes/selector.ts'
import type { PlacePolicy } from '../placement/types.ts'
import type { ModelLoad, Node, Replica, Rule, World } from '../types.ts'
import { arbitraryLoads, arbitraryPolicy, arbitraryWorld } from './arbitrary-suite.ts'
import { checkPlan } from './check-plan.ts'
import type { Plan } from './plan.ts'
import { reconcile } from './reconcile.ts'

/** Every demand and every old revision may take a few turns: stop, gone, start. */
const MOST_TURNS = 40
const TURN_MS = 100_000
/** So many turns without a step are the end: longer than anything waits, and than a replica may be idle. */
const QUIET_TURNS = 7

/** Ready, of this revision, and where requests are sent to. */
function servingOf({ replicas, nodes, models, rules }: World, modelName: string): Replica[] {
  const revision = models.find(({ name }) => name === modelName)?.revision
  const selector = rules.find((rule) => rule.modelName === modelName)?.nodeSelector ?? {}
  return replicas.filter((replica) => {
    const node = nodes.find(({ id }) => id === replica.nodeId)!
    const isCurrent = replica.state === 'ready' && replica.revision === revision && replica.modelName === modelName
    return isCurrent && !mismatchOf(selector, node.labels) && node.desired === 'active'
  })
}

/** Turns until nothing changes any more, however much time passes. */
function settle(start: World, loads: readonly ModelLoad[][], policy: PlacePolicy): { world: World; plan: Plan } {
  let world: World = { ...start, loads: loads[0] ?? [] }
  let plan = reconcile(world, policy)
  let quiet = 0
  for (let turn = 1; quiet < QUIET_TURNS; turn += 1) {
    expect(turn, JSON.stringify(plan)).toBeLessThan(MOST_TURNS + QUIET_TURNS)
    expect(checkPlan(world, plan)).toEqual([])
    world = { ...execute(world, plan, world.nowMs + TURN_MS), loads: loads[turn] ?? [] }
    plan = reconcile(world, policy)
    const isQuiet = plan.steps.length + plan.waiting.length === 0 && turn >= loads.length
    quiet = isQuiet ? quiet + 1 : 0
  }
  return { world, plan }
}

/** At least so many serve, or all nodes say why not; no more than may be, and no more than are used. */
function expectCount(world: World, plan: Plan, modelName: string, least: number, rule?: Rule): void {
  const serving = servingOf(world, modelName)
  if (serving.length < least) {
    const unmet = plan.unmet.find((one) => one.modelName === modelName)
    expect(unmet?.missing).toBeGreaterThanOrEqual(least - serving.length)
    expect(unmet?.refusals).toHaveLength(world.nodes.length)
  }
  if (!rule) return
  if (rule.maxReplicas > 0) expect(serving.length).toBeLessThanOrEqual(rule.maxReplicas)
  const inUse = serving.filter(({ inFlight }) => inFlight > 0).length
  if (plan.frozen.length > 0 || world.demands.some((demand) => demand.modelName === modelName)) return
  const kept = rule.scaleToZeroAfterMs === 10_000 ? 0 : 1
  expect(serving.length).toBeLessThanOrEqual(Math.max(least, kept, inUse === 0 ? 0 : serving.length))
}

/** Exactly one on each node that is meant, or that node says why not; none where it is not meant. */
function expectEverywhere(world: World, plan: Plan, { modelName, nodeSelector }: Rule): void {
  const serving = servingOf(world, modelName)
  const refusing = plan.unmet.find((one) => one.modelName === modelName)?.refusals ?? []
  const mayServe = ({ approved, desired, liveness, labels }: Node): boolean =>
    approved && desired === 'active' && liveness !== 'offline' && !mismatchOf(nodeSelector, labels)
  for (const node of world.nodes) {
    const count = serving.filter(({ nodeId }) => nodeId === node.id).length
    if (!mayServe(node)) continue
    expect(count + refusing.filter(({ nodeId }) => nodeId === node.id).length).toBe(1)
  }
}

describe('from any world', () => {
  test('every plan keeps the invariants', () => {
    fc.assert(
      fc.property(arbitraryWorld, arbitraryPolicy, (world, policy) => {
        expect(checkPlan(world, reconcile(world, policy))).toEqual([])
      }),
    )
  })

  test('a few turns reach a fixed point where every rule and every demand is met or has every node’s reason', () => {
    fc.assert(
      fc.property(arbitraryWorld, arbitraryLoads, arbitraryPolicy, (start, loads, policy) => {
        const { world, plan } = settle(start, loads, policy)
        const names = new Set(world.models.map(({ name }) => name))
        for (const rule of world.rules.filter(({ modelName }) => names.has(modelName))) {
          if (rule.spreadAll) expectEverywhere(world, plan, rule)
          else expectCount(world, plan, rule.modelName, rule.minReplicas, rule)
        }
        for (const { modelName } of world.demands) {
          if (!world.rules.some((rule) => rule.modelName === modelName && rule.spreadAll))
            expectCount(world, plan, modelName, 1)
        }
        for (const { name } of world.models) {
          const count = (replicas: readonly Replica[]): number =>
            replicas.filter(({ modelName, state }) => modelName === name && state !== 'failed').length
          const rule = world.rules.find(({ modelName }) => modelName === name)
          const least = rule?.spreadAll ? world.nodes.length : (rule?.minReplicas ?? 0)
          // Two places of one count for where it is kept in case that a node is resumed or a label put back.
          expect(count(world.replicas)).toBeLessThanOrEqual(count(start.replicas) + Math.max(1, least))
        }
      }),
    )
  })

  test('the same world gives the same plan', () => {
    fc.assert(
      fc.property(arbitraryWorld, (world) => {
        expect(reconcile(world)).toEqual(reconcile(structuredClone(world)))
      }),
    )
  })
})
