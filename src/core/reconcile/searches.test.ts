import { describe, expect, test } from 'vitest'
import { aClaim, aModel, aNode, aReplica, aRule, aWorld } from '../../../test/support/builders.ts'
import type { World } from '../types.ts'
import { Memory } from './memory.ts'
import { reconcile } from './reconcile.ts'
import { Searches } from './searches.ts'

const NODES = 10

/** Rules that no node has room for, each for more memory than the last, so that no two needs are alike. */
function tooMany(count: number, fields: Partial<World> = {}): World {
  const names = Array.from({ length: count }, (_, i) => `m${String(i).padStart(2, '0')}`)
  return aWorld({
    nodes: Array.from({ length: NODES }, (_, i) => aNode({ id: `n${i}`, totalRam: 100 })),
    models: names.map((name, i) => aModel({ name, memory: { vram: 0, ram: 1000 + i } })),
    rules: names.map((modelName) => aRule({ modelName, minReplicas: 1 })),
    ...fields,
  })
}

const namesOf = (unmet: readonly { modelName: string }[]): string[] => unmet.map(({ modelName }) => modelName)

describe('a pass that may collect only so many refusals', () => {
  test('leaves the rest untried, and says so', () => {
    const { unmet, untried } = reconcile(tooMany(10), 'spread', new Memory({ mostRefusals: 3 * NODES }))
    expect(namesOf(unmet)).toEqual(['m00', 'm01', 'm02'])
    expect(untried).toHaveLength(7)
    expect(reconcile(tooMany(10)).unmet).toHaveLength(10)
  })

  test('comes to every rule in turn, those first that have waited longest', () => {
    const memory = new Memory({ mostRefusals: 3 * NODES })
    const world = tooMany(10)
    const passes = Array.from({ length: 8 }, () => namesOf(reconcile(world, 'spread', memory).unmet))
    expect(new Set(passes.slice(0, 4).flat()).size).toBe(10)
    expect(new Set(passes.slice(4).flat()).size).toBe(10)
    for (const names of passes) expect(names.length).toBeLessThanOrEqual(3)
  })

  test('looks first for models that clients wait for, and also for the others', () => {
    const memory = new Memory({ mostRefusals: 4 * NODES })
    const demands = ['m08', 'm09'].map((modelName) => ({ modelName, sinceMs: 0, wantedUntilMs: 1e9 }))
    const world = tooMany(10, { demands })
    const passes = Array.from({ length: 6 }, () => namesOf(reconcile(world, 'spread', memory).unmet))
    for (const names of passes.slice(3)) expect(names).toEqual(expect.arrayContaining(['m08', 'm09']))
    expect(new Set(passes.flat()).size).toBe(10)
  })

  test('places at once what has room, however many have none', () => {
    const memory = new Memory({ mostRefusals: NODES })
    const world = tooMany(10)
    for (let i = 0; i < 5; i += 1) reconcile(world, 'spread', memory)
    const small = aModel({ name: 'small', memory: { vram: 0, ram: 0 } })
    const asked = {
      ...world,
      models: [...world.models, small],
      rules: [aRule({ modelName: 'small', minReplicas: 1 }), ...world.rules],
      demands: [{ modelName: 'small', sinceMs: 0, wantedUntilMs: 1e9 }],
    }
    const placed = Array.from({ length: 4 }, () => reconcile(asked, 'spread', memory).steps.length)
    expect(placed.some((count) => count > 0)).toBe(true)
  })

  test('finds the room that has come within as many passes as it takes to come to every rule', () => {
    const memory = new Memory({ mostRefusals: 2 * NODES })
    const world = tooMany(10)
    for (let i = 0; i < 3; i += 1) reconcile(world, 'spread', memory)
    const [first, ...others] = world.nodes
    const roomy = { ...world, nodes: [{ ...first!, totalRam: 2 ** 33, availableRam: 2 ** 33 }, ...others] }
    const started = new Set<string>()
    for (let i = 0; i < 5; i += 1) {
      for (const step of reconcile(roomy, 'spread', memory).steps)
        if (step.kind === 'reserve') started.add(step.modelName)
    }
    expect(started.size).toBe(10)
  })
})

describe('needs of the same shape', () => {
  const alike = (count: number): World => {
    const world = tooMany(count)
    return { ...world, models: world.models.map((model) => ({ ...model, memory: { vram: 0, ram: 1000 } })) }
  }

  test('are searched for once, and all say why', () => {
    const { unmet, untried } = reconcile(alike(50), 'spread', new Memory({ mostRefusals: NODES + 1 }))
    expect({ unmet: unmet.length, untried: untried.length }).toEqual({ unmet: 50, untried: 0 })
    expect(new Set(unmet.map(({ refusals }) => refusals)).size).toBe(1)
    expect(unmet[49]).toMatchObject({ modelName: 'm49', missing: 1 })
  })

  test('give the same answers as if each had been searched for', () => {
    const one = reconcile(alike(1)).unmet[0]!
    for (const unmet of reconcile(alike(5)).unmet) expect(unmet).toEqual({ ...one, modelName: unmet.modelName })
  })

  test('are not alike where one of them has replicas, another selector, or must be apart', () => {
    const world = alike(4)
    const replicas = [aReplica({ nodeId: 'n1', modelName: 'm00', claim: aClaim({}), state: 'failed', retryAtMs: 1e9 })]
    const rules = world.rules.map((rule, i) => (i === 1 ? { ...rule, nodeSelector: { tier: 'x' } } : rule))
    const models = world.models.map((model, i) => (i === 2 ? { ...model, antiAffinity: 'apart' } : model))
    const { unmet } = reconcile({ ...world, replicas, rules, models })
    expect(new Set(unmet.map(({ refusals }) => refusals)).size).toBe(4)
    expect(unmet[0]!.refusals[1]).toMatchObject({ filter: 'failing' })
    expect(unmet[1]!.refusals[0]).toMatchObject({ filter: 'selector' })
  })

  test('are searched for again once the fleet has changed', () => {
    const searches = new Searches(Infinity)
    searches.begin([], 1)
    const refused = { ok: false, refusals: [], advice: [], isBusy: false } as const
    searches.refuse('a', refused, 'shape', 1)
    expect(searches.knownFor('shape', 1)).toBe(refused)
    expect(searches.knownFor('shape', 2)).toBeUndefined()
    searches.begin([], 1)
    expect(searches.knownFor('shape', 1)).toBeUndefined()
  })
})
