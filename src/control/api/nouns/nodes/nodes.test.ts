import { describe, expect, test } from 'vitest'
import type { NodeView, ReplicaView } from '../../../../api/admin/schemas.ts'
import { aStage } from '../../../../../test/support/control/admin-stage.ts'

describe('a node', () => {
  test('that is removed leaves nothing behind, is told, and is taken off the bus afterwards', async () => {
    const { scene, thor, loki } = await aStage()
    const order: string[] = []
    scene.deps.bus.request = async (name) => void order.push(name) as never
    scene.deps.onNodeRemoved = (_nodeId, publicKey) => void order.push(publicKey)
    expect((await scene.admin('DELETE', `/api/nodes/${thor.nodeId}`)).body).toEqual({ deleted: thor.nodeId })
    expect(order).toEqual(['nodeShutdown', thor.publicKey])
    for (const table of ['replicas', 'node_labels']) {
      const rows = await scene.db.query(`select * from ${table} where node_id = $1`, [thor.nodeId])
      expect(rows, table).toEqual([])
    }
    expect(await scene.heartbeat(thor)).toBeUndefined()
    // A pending node is not on the bus, so it gets no message.
    await scene.admin('DELETE', `/api/nodes/${loki.nodeId}`)
    expect(order).toEqual(['nodeShutdown', thor.publicKey, loki.publicKey])
    expect((await scene.admin<NodeView[]>('GET', '/api/nodes')).body).toEqual([])
  })

  test('that does not answer is removed all the same', async () => {
    const { scene, thor } = await aStage()
    scene.deps.bus.request = () => Promise.reject(new Error('nothing is listening'))
    expect((await scene.admin('DELETE', `/api/nodes/${thor.nodeId}`)).status).toBe(200)
    expect(scene.asked.removed).toEqual([thor.publicKey])
  })

  test('with fewer slots than replicas keeps them all and says how many are above the cap', async () => {
    const { scene, thor } = await aStage()
    await scene.wants(2)
    await scene.turn()
    const slots = (method: string, value?: number) =>
      scene.admin<NodeView>(method, `/api/nodes/${thor.nodeId}/max-replicas-per-model`, value && { value })
    expect((await slots('PUT', 1)).body).toMatchObject({ max_replicas_per_model: 1, above_cap: 1, replica_count: 2 })
    expect((await scene.turn()).plan.steps).toEqual([])
    expect((await scene.admin<ReplicaView[]>('GET', `/api/nodes/${thor.nodeId}/models`)).body).toHaveLength(2)
    expect((await scene.node(thor)).labels['node.replica-slots']).toBe('1')
    expect((await slots('DELETE')).body).toMatchObject({ max_replicas_per_model: 2, above_cap: 0 })
    expect((await scene.node(thor)).labels['node.replica-slots']).toBe('2')
  })

  test.each([
    ['80%', '80%', 160e6],
    [' 12 GB', '12 GB', 200e6],
    ['100000000', '100000000', 100e6],
    [150e6, '150000000', 150e6],
  ])('has a budget of %j', async (value, text, bytes) => {
    const { scene, thor } = await aStage()
    const gpu = { index: 0, uuid: 'g', name: 'g', total_vram: 200e6, available_vram: 1, unified: false }
    await scene.heartbeat(thor, [], { gpu_vendor: 'nvidia', devices: [gpu] })
    const { body } = await scene.admin<NodeView>('PUT', `/api/nodes/${thor.nodeId}/vram-budget`, { value })
    expect(body).toMatchObject({ vram_budget: text, vram_budget_bytes: bytes, vram_budget_manually_set: true })
  })

  test('says how much is held on each of its devices for replicas that have not been measured', async () => {
    const { scene, thor } = await aStage()
    const gpu = (index: number) => ({ index, uuid: `g${index}`, name: 'g', total_vram: 8e9, available_vram: 8e9 })
    const devices = [gpu(0), gpu(1)].map((one) => ({ ...one, unified: false }))
    await scene.heartbeat(thor, [], { gpu_vendor: 'nvidia', devices })
    const claim = { devices: [{ index: 1, bytes: 3e9 }], ram: 1e9, disk: 5, source: 'computed', alone: false }
    const hold = (text: string) => scene.db.transaction((tx) => tx.query('update replicas set claim = $1', [text]))
    await hold(JSON.stringify(claim))
    const held = { reserved_vram: 3e9, reserved_vram_by_device: [0, 3e9], reserved_ram: 1e9 }
    expect(await scene.node(thor)).toMatchObject(held)
    expect((await scene.admin<NodeView[]>('GET', '/api/nodes')).body).toMatchObject([{ name: 'loki' }, held])
    const [replica] = (await scene.admin<ReplicaView[]>('GET', '/api/replicas')).body
    const { alone: _alone, ...shown } = claim
    expect(replica).toMatchObject({ claim: shown, measured: null, last_used_at: null, ready_at: null })
    await scene.admin('PUT', `/api/nodes/${thor.nodeId}/vram-budget`, { value: '50%' })
    expect(await scene.node(thor)).toMatchObject({ available_vram: 16e9, vram_budget_left: 5e9 })
    await scene.admin('DELETE', `/api/nodes/${thor.nodeId}/vram-budget`)
    expect(await scene.node(thor)).toMatchObject({ vram_budget_left: null })
    // A heartbeat says what is free; it never erases what is held.
    await scene.heartbeat(thor, [], { gpu_vendor: 'nvidia', devices })
    expect(await scene.node(thor)).toMatchObject(held)
  })

  test('has labels of any printable unicode, which can be taken away again', async () => {
    const { scene, thor } = await aStage()
    const labels = { 'зона/1 #3': 'Köln 🚢 100%', 'a=b&c?d': '"', __proto__x: 'y' }
    const path = `/api/nodes/${thor.nodeId}/labels`
    const { body } = await scene.admin<NodeView>('PUT', path, labels)
    expect(body.labels).toMatchObject(labels)
    for (const key of Object.keys(labels)) {
      expect((await scene.admin('DELETE', `${path}/${encodeURIComponent(key)}`)).status).toBe(200)
    }
    expect(Object.keys((await scene.node(thor)).labels).toSorted()).toEqual(['node.name', 'node.replica-slots', 'rack'])
  })

  test('is drained and resumed as often as one likes', async () => {
    const { scene, thor } = await aStage()
    const changes = scene.asked.changes
    for (const what of ['drain', 'drain', 'resume', 'resume']) {
      expect((await scene.admin('POST', `/api/nodes/${thor.nodeId}/${what}`)).status).toBe(200)
    }
    expect(scene.asked.changes).toBe(changes + 2)
  })
})

test('revoking a token twice is fine, and told once', async () => {
  const { scene, tokenId } = await aStage()
  const changes = scene.asked.changes
  for (let i = 0; i < 2; i += 1) {
    expect((await scene.admin('DELETE', `/api/tokens/${tokenId}`)).body).toMatchObject({ state: 'revoked' })
  }
  expect(scene.asked.changes).toBe(changes + 1)
})
