import { describe, expect, onTestFinished, test } from 'vitest'
import { anApplicant } from '../../../test/support/control/control-scene.ts'
import { stateAfter, watchCluster } from '../../../test/support/control/live-watcher.ts'
import { until } from '../../../test/support/until.ts'
import { sceneOn, type OpenStore } from './control-suite.ts'

/** The live stream of the cluster; run on each kind of store. */
export function describeLive(storeName: string, openStore: OpenStore): void {
  describe(`watching the cluster on ${storeName}`, () => {
    const scene = sceneOn(openStore)

    test('the first message has everything, as the other calls tell it', async () => {
      await scene().register(anApplicant('pending'))
      await scene().wants(1)
      const watcher = await watchCluster(scene().url)
      await until(() => watcher.messages.length > 0)
      const [first] = watcher.messages
      const listed = await scene().admin<object[]>('GET', '/api/nodes')
      expect(first).toMatchObject({ is_snapshot: true, nodes: { patch: {}, gone: [] }, rules: { patch: {}, gone: [] } })
      expect(first!.nodes.set).toEqual(listed.body)
      expect(first!.rules.set).toEqual((await scene().admin('GET', '/api/nodes/scheduling')).body)
      expect(first!.models.set).toMatchObject([{ name: 'm', wanted: 1, in_flight: 0, waiting: 0, state: 'stopped' }])
      expect(first!.problems).toMatchObject([
        { kind: 'rule', model_name: 'm', node_id: null },
        { kind: 'approval', node_id: first!.nodes.set[0]!.id, node_name: 'pending' },
      ])
    })

    test('all readers get each change field by field, and end up with what the API says', async () => {
      const node = anApplicant()
      await scene().register(node)
      const [one, two] = [await watchCluster(scene().url), await watchCluster(scene().url)]
      await until(() => one.messages.length > 0 && two.messages.length > 0)
      const before = one.messages.length
      await scene().admin('POST', `/api/nodes/${node.nodeId}/approve`)
      await until(() => one.messages.some(({ nodes }) => nodes.patch[node.nodeId]?.['approved'] === true))
      const told = one.messages.slice(before)
      expect(told.every(({ is_snapshot: isSnapshot }) => !isSnapshot)).toBe(true)
      expect(told[0]!.nodes.set).toEqual([])
      expect(told[0]!.nodes.patch[node.nodeId]).not.toHaveProperty('public_key')
      await scene().wants(1)
      await scene().heartbeat(node)
      await scene().turn()
      scene().feed.wake()
      await until(() => one.state().replicas.size === 1 && two.state().replicas.size === 1)
      await scene().admin('DELETE', `/api/nodes/${node.nodeId}`)
      await until(() => [one, two].every(({ state }) => state().nodes.size + state().replicas.size === 0))
      const late = await watchCluster(scene().url)
      await until(() => late.messages.length > 0)
      const now = late.state()
      await until(() => stateAfter(one.messages).newestEvent === now.newestEvent)
      for (const { state } of [one, two]) {
        expect(state()).toEqual(now)
      }
    })

    test('events come no later than what they tell of', async () => {
      const watcher = await watchCluster(scene().url)
      await until(() => watcher.messages.length > 0)
      const first = watcher.state().newestEvent
      for (let i = 0; i < 5; i += 1) await scene().register(anApplicant(`node-${i}`))
      await until(() => watcher.state().nodes.size === 5)
      for (const [i] of watcher.messages.entries()) {
        const { nodes, newestEvent } = stateAfter(watcher.messages.slice(0, i + 1))
        expect(nodes.size).toBeGreaterThanOrEqual(newestEvent - first)
      }
    })

    test('streams end when Flotilla stops', async () => {
      const watcher = await watchCluster(scene().url)
      await until(() => watcher.messages.length > 0)
      await scene().deps.live.dispose()
      await watcher.ended
      expect((await scene().admin('GET', '/api/live')).status).toBe(503)
    })

    test('without the admin key there is nothing to see', async () => {
      const watcher = await watchCluster(scene().url, 'wrong')
      onTestFinished(() => watcher.stop())
      expect(watcher.status).toBe(401)
    })
  })
}
