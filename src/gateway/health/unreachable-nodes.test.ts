import { expect, test } from 'vitest'
import { VirtualClock } from '../../../test/support/virtual-clock.ts'
import type { LiveRoute } from '../table/routing-table.ts'
import { UnreachableNodes } from './unreachable-nodes.ts'

const ROUTE = { replicaId: 'r1', nodeId: 'n1', nodeName: 'wb', address: '10.99.0.77:23810' } as LiveRoute

function aScene() {
  const clock = new VirtualClock(1000)
  const scene = {
    clock,
    why: 'no connection within 2 s' as string | undefined,
    route: ROUTE as LiveRoute | undefined,
    heardAtMs: 1000,
  }
  const nodes = new UnreachableNodes({
    clock,
    table: { route: () => scene.route, heardAtMs: () => scene.heardAtMs },
    askNode: async () => scene.why,
    onChange() {},
  })
  return Object.assign(scene, { nodes })
}

test('a node that control hears and that cannot be connected to is listed until it can', async () => {
  const scene = aScene()
  scene.nodes.failed(ROUTE)
  await scene.clock.advance(0)
  expect(scene.nodes.list()).toEqual([])
  scene.heardAtMs = 6000
  await scene.clock.advance(5000)
  expect(scene.nodes.list()).toEqual([
    { node_id: 'n1', node_name: 'wb', address: '10.99.0.77:23810', why: 'no connection within 2 s' },
  ])
  scene.why = undefined
  await scene.clock.advance(5000)
  expect(scene.nodes.list()).toEqual([])
})

test.each<[string, (scene: ReturnType<typeof aScene>) => void]>([
  ['that answers after all', (scene) => (scene.why = undefined)],
  ['that control has not heard since', (scene) => (scene.heardAtMs = 1000)],
  ['whose replica has another address now', (scene) => (scene.route = { ...ROUTE, address: '10.0.0.2:9090' })],
  ['whose replica is gone', (scene) => (scene.route = undefined)],
])('a node %s is not listed', async (_what, change) => {
  const scene = aScene()
  scene.heardAtMs = 6000
  change(scene)
  scene.nodes.failed(ROUTE)
  await scene.clock.advance(5000)
  expect(scene.nodes.list()).toEqual([])
})
