import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { aModel, aNode, aReplica, aRule, aWorld } from '../../../test/support/builders.ts'
import { execute } from '../declare/execute.ts'
import type { World } from '../types.ts'
import { arbitraryLoads, arbitraryPolicy, arbitraryWorld } from './arbitrary-suite.ts'
import { changedRows } from './changed-rows.ts'
import { Memory } from './memory.ts'
import { reconcile } from './reconcile.ts'
import { WorldIndex } from './world-index.ts'

const tables = ['nodes', 'models', 'rules', 'replicas', 'demands', 'learned'] as const
type Table = (typeof tables)[number]

/** What happens between two passes. `other` is where new rows come from. */
type Change =
  | { what: 'put'; table: Table; at: number; other: World }
  | { what: 'drop'; table: Table; at: number }
  | { what: 'reading'; at: number; free: number }
  | { what: 'learn'; at: number; vram: number }
  | { what: 'shuffle' }
  | { what: 'wait'; ms: number }
  | { what: 'all is done' }
  | { what: 'nothing' }

const table = fc.constantFrom(...tables)
const at = fc.nat({ max: 9 })
const arbitraryChange: fc.Arbitrary<Change> = fc.oneof(
  fc.record({ what: fc.constant('put' as const), table, at, other: arbitraryWorld }),
  fc.record({ what: fc.constant('drop' as const), table, at }),
  fc.record({ what: fc.constant('reading' as const), at, free: fc.constantFrom(0, 3, 8) }),
  fc.record({ what: fc.constant('learn' as const), at, vram: fc.constantFrom(1, 5) }),
  fc.record({ what: fc.constant('wait' as const), ms: fc.constantFrom(1, 10_000, 300_000, 700_000) }),
  fc.constantFrom<Change[]>({ what: 'all is done' }, { what: 'nothing' }, { what: 'shuffle' }),
)

function keyOf(row: object): string {
  const { id, name, nodeId, modelName, replicaIndex } = row as Record<string, unknown>
  return nodeId === undefined ? String(modelName ?? name ?? id) : JSON.stringify([nodeId, modelName, replicaIndex])
}

function after(world: World, change: Change): World {
  switch (change.what) {
    case 'put': {
      const rows: readonly object[] = change.other[change.table]
      const row = rows[change.at % Math.max(1, rows.length)]
      if (!row) return world
      const before: readonly object[] = world[change.table]
      const isThere = before.some((one) => keyOf(one) === keyOf(row))
      const now = isThere ? before.map((one) => (keyOf(one) === keyOf(row) ? row : one)) : [...before, row]
      return onItsNodes({ ...world, [change.table]: now })
    }
    case 'drop':
      return onItsNodes({ ...world, [change.table]: world[change.table].filter((_, i) => i !== change.at) })
    case 'reading':
      return {
        ...world,
        nodes: world.nodes.map((node, i) =>
          i === change.at % world.nodes.length
            ? { ...node, devices: node.devices.map((device) => ({ ...device, availableVram: change.free })) }
            : node,
        ),
      }
    case 'learn': {
      const model = world.models[change.at]
      if (!model) return world
      const seen = { modelName: model.name, revision: model.revision, engineVersion: null, vram: change.vram, ram: 0 }
      return { ...world, learned: [...world.learned, { ...seen, deviceKind: 'gpu', learnedFrom: 'measured' }] }
    }
    case 'shuffle':
      return { ...world, replicas: world.replicas.toReversed(), nodes: world.nodes.toReversed() }
    case 'wait':
      return { ...world, nowMs: world.nowMs + change.ms }
    case 'all is done':
      return execute(world, reconcile(world), world.nowMs + 1000)
    case 'nothing':
      return world
  }
}

/** A row goes with its node. */
function onItsNodes(world: World): World {
  const ids = new Set(world.nodes.map(({ id }) => id))
  return { ...world, replicas: world.replicas.filter(({ nodeId }) => ids.has(nodeId)) }
}

describe('what a pass remembers', () => {
  test('changes nothing about the plan, whatever happens between passes', () => {
    fc.assert(
      fc.property(
        arbitraryWorld,
        fc.array(arbitraryChange, { maxLength: 8 }),
        arbitraryLoads,
        arbitraryPolicy,
        (start, changes, loads, policy) => {
          const memory = new Memory()
          let world = start
          expect(reconcile(world, policy, memory)).toEqual(reconcile(world, policy))
          for (const [i, change] of changes.entries()) {
            world = { ...after(world, change), loads: loads[i] ?? [] }
            expect(reconcile(world, policy, memory)).toEqual(reconcile(world, policy))
          }
        },
      ),
      { numRuns: 400 },
    )
  })

  test('changes nothing about what is known and free', () => {
    fc.assert(
      fc.property(arbitraryWorld, fc.array(arbitraryChange, { maxLength: 8 }), (start, changes) => {
        const index = new WorldIndex()
        let world = start
        for (const change of changes) {
          index.take(world)
          const fleet = index.fleet()
          // A plan takes from it and adds to it.
          for (const replica of world.replicas.slice(0, 3)) fleet.remove(replica)
          for (const replica of world.replicas.slice(1, 2)) fleet.add({ ...replica, state: 'draining' })
          world = after(world, change)
        }
        index.take(world)
        const fresh = new WorldIndex()
        fresh.take(world)
        expect(describeIndex(index, world)).toEqual(describeIndex(fresh, world))
      }),
    )
  })

  function describeIndex(index: WorldIndex, world: World): unknown {
    const { nodes, models, rules, demands } = index
    const fleet = index.fleet()
    const rooms = fleet.rooms.map((room) => {
      const { node, held, free, mostFree, holders, alone, vram, ram, disk, unsettled, aloneOnRam, staying } = room
      return [node.id, held, free, mostFree, holders, alone, vram, ram, disk, unsettled, aloneOnRam, staying]
    })
    const names = ['m0', 'm1', 'm2', 'm3']
    const where = names.map((name) => [...fleet.roomsOf(name)].map(({ node }) => node.id).toSorted())
    const of = names.map((name) => index.replicasOf(name))
    const on = world.nodes.map(({ id }) => index.replicasOn(id))
    return { nodes, models, rules, demands, rooms, where, of, on }
  }

  test('lets a pass look at nothing but what has changed', () => {
    const names = ['a', 'b', 'c']
    const world = aWorld({
      nodes: names.map((id) => aNode({ id })),
      models: names.map((name) => aModel({ name })),
      rules: names.map((modelName) => aRule({ modelName, minReplicas: 1 })),
      replicas: names.map((name) => aReplica({ id: name, nodeId: name, modelName: name })),
    })
    const memory = new Memory()
    const none = new Set<string>()
    reconcile(world, 'spread', memory)
    expect(memory.take(world, none)).toEqual(new Set())
    const [a, ...others] = world.nodes
    const heard = { ...world, nodes: [{ ...a!, availableRam: 7 }, ...others] }
    expect(memory.take(heard, none)).toEqual(new Set())
    const labelled = { ...world, nodes: [{ ...a!, labels: { tier: 'x' } }, ...others] }
    expect(memory.take(labelled, none)).toEqual(new Set(['a']))
    expect(memory.take({ ...labelled, replicas: world.replicas.slice(1) }, none)).toEqual(new Set(['a']))
  })
})

test('the rows that differ are found, wherever they are and however they are ordered', () => {
  const row = fc.nat({ max: 30 })
  fc.assert(
    fc.property(fc.uniqueArray(row, { maxLength: 60 }), fc.uniqueArray(row, { maxLength: 60 }), (before, now) => {
      const { gone, come } = changedRows(before, now)
      const sorted = (numbers: number[]): number[] => numbers.toSorted((a, b) => a - b)
      expect(sorted(gone)).toEqual(sorted(before.filter((one) => !now.includes(one))))
      expect(sorted(come)).toEqual(sorted(now.filter((one) => !before.includes(one))))
    }),
  )
})
