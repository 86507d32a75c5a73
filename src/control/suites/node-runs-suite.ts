import type { IncomingMessage, ServerResponse } from 'node:http'
import { describe, expect, test } from 'vitest'
import { RUN_PATH } from '../../api/data-port.ts'
import { RUN_HEADER } from '../../api/node-run.ts'
import type { ClusterView } from '../../api/admin/cluster-schemas.ts'
import { listEvents } from '../../store/nouns/events.ts'
import { anApplicant, type Applicant } from '../../../test/support/control/control-scene.ts'
import { serve } from '../../../test/support/http/http.ts'
import { sceneOn, type OpenStore } from './control-suite.ts'
import { dataKeyOf } from '../workers/data-key.ts'

/** Two processes with the key of one node; run on each kind of store. */
export function describeNodeRuns(storeName: string, openStore: OpenStore): void {
  describe(`runs of one node on ${storeName}`, () => {
    const scene = sceneOn(openStore, { autoApprove: true })

    /** A data port, and which run of which node answers there; none: something else does. */
    async function aDataPort() {
      const port = { run: undefined as string | undefined, nodeId: '', address: '', asked: 0 }
      const url = await serve((request: IncomingMessage, response: ServerResponse) => {
        port.asked += 1
        const isOurs = request.headers.authorization === `Bearer ${dataKeyOf('secret', port.nodeId)}`
        if (port.run === undefined || !isOurs || request.url !== RUN_PATH) return void response.writeHead(401).end()
        response.writeHead(204, { [RUN_HEADER]: port.run }).end()
      })
      port.address = new URL(url).host
      return port
    }
    /** A node that takes part, with its data port, and a copy of it on another machine. */
    async function twins() {
      const port = await aDataPort()
      const first = { ...anApplicant('thor'), run: 'run1' }
      await scene().register(first, { address: port.address })
      Object.assign(port, { run: first.run, nodeId: first.nodeId })
      await scene().heartbeat(first)
      const second: Applicant = { ...first, run: 'run2', bootId: 'boot2', seq: 0 }
      return { port, first, second }
    }
    const elsewhere = { address: '10.0.0.9:9090' }
    const nowhere = '127.0.0.1:9'
    const moveTo = (address: string) =>
      scene().db.transaction((tx) => tx.query('update nodes set address = $1', [address]))
    const problems = async () => (await scene().admin<ClusterView>('GET', '/api/cluster')).body.problems
    const actions = async () => (await listEvents(scene().db, 0, 1000)).map(({ action }) => action)
    const runs = async () => await scene().db.query('select run_id, boot_id, address from nodes')

    test('the second is refused while the first answers at its data port, and status names both addresses', async () => {
      const { port, first, second } = await twins()
      for (let i = 0; i < 3; i += 1) {
        const refused = await scene().register(second, elsewhere)
        expect(refused).toMatchObject({ status: 409, body: { error: { code: 'conflict', run: 'second' } } })
        expect(JSON.stringify(refused.body)).toContain(`already connected from ${port.address}`)
      }
      // Silence does not change it: with the bus away it still serves.
      await scene().silentFor(61_000, first)
      await scene().turn()
      expect(await scene().register(second, elsewhere)).toMatchObject({ status: 409 })
      expect(await runs()).toEqual([{ run_id: 'run1', boot_id: 'boot1', address: port.address }])
      expect((await actions()).filter((action) => action === 'node.duplicate')).toHaveLength(1)
      expect((await problems()).filter(({ text }) => text.includes('second process'))).toMatchObject([
        {
          kind: 'node',
          severity: 'error',
          node_name: 'thor',
          text: expect.stringMatching(/10\.0\.0\.9:9090, is refused: thor is connected from 127/),
        },
      ])
      await scene().db.transaction((tx) => tx.query('update nodes set refused_at = refused_at - 31000'))
      expect((await problems()).filter(({ text }) => text.includes('second process'))).toEqual([])
    })

    test('heartbeats, credentials and the goodbye of a run that is not the one of the node count for nothing', async () => {
      const { first, second } = await twins()
      const impostor = { ...second, bootId: first.bootId, seq: 5000 }
      expect(await scene().heartbeat(impostor)).toBeUndefined()
      expect(await scene().signed(impostor, 'POST', `/api/node/${first.nodeId}/credentials`)).toMatchObject({
        status: 409,
        body: { error: { code: 'conflict', run: 'other' } },
      })
      const goodbye = (who: Applicant) =>
        scene().signed(who, 'POST', `/api/node/${who.nodeId}/deregister`, Date.now(), { boot_id: who.bootId })
      expect(await goodbye(impostor)).toMatchObject({ status: 200 })
      expect(await scene().node(first)).toMatchObject({ status: 'healthy' })
      expect(await scene().heartbeat(first)).toMatchObject({ nodeId: first.nodeId })
      expect(await goodbye(first)).toMatchObject({ status: 200 })
      expect(await scene().node(first)).toMatchObject({ status: 'offline' })
      expect((await scene().register(second, elsewhere)).status).toBe(200)
    })

    test('a worker that was killed and started again at once is taken in at once', async () => {
      const { port, first } = await twins()
      const again = { ...first, run: 'run2' }
      port.run = 'run2'
      expect((await scene().register(again, { address: port.address })).status).toBe(200)
      expect(await scene().heartbeat(again)).toMatchObject({ nodeId: first.nodeId })
      expect(await scene().heartbeat(first)).toBeUndefined()
      // Its key was lost with its folder: the port answers, and knows nothing.
      port.run = undefined
      expect((await scene().register({ ...again, run: 'run3' }, { address: port.address })).status).toBe(200)
      // Nothing listens at the old address, and it is the same boot of the same machine.
      await moveTo(nowhere)
      expect((await scene().register({ ...again, run: 'run4' }, { address: port.address })).status).toBe(200)
    })

    test('a machine that comes back under another address is taken in once the run before has been silent', async () => {
      const { first, second } = await twins()
      await moveTo(nowhere)
      expect(await scene().register(second, elsewhere)).toMatchObject({ status: 409 })
      await scene().silentFor(16_000, first)
      await scene().turn()
      expect((await scene().register(second, elsewhere)).status).toBe(200)
      expect(await scene().heartbeat(second)).toMatchObject({ nodeId: first.nodeId })
    })

    test('the worker inside a frontend is taken in at once, under another port and after another boot', async () => {
      const { second } = await twins()
      await moveTo(nowhere)
      expect(await scene().register(second)).toMatchObject({ status: 409 })
      Object.assign(scene().deps, { approves: () => true })
      expect((await scene().register(second)).status).toBe(200)
    })

    test('the same run may register again from another address', async () => {
      const { port, first } = await twins()
      port.asked = 0
      expect((await scene().register(first, elsewhere)).status).toBe(200)
      expect(port.asked).toBe(0)
      expect(await runs()).toMatchObject([{ run_id: 'run1', address: elsewhere.address }])
    })

    test('a worker of the release before names no run, before and after an update', async () => {
      const old = anApplicant('loki')
      await scene().register(old)
      expect(await scene().heartbeat(old)).toMatchObject({ nodeId: old.nodeId })
      const updated = { ...old, run: 'run1' }
      expect((await scene().register(updated)).status).toBe(200)
      expect(await scene().heartbeat(updated)).toMatchObject({ nodeId: old.nodeId })
      expect(await scene().heartbeat(old)).toBeUndefined()
      // A frontend of the release before took it in, and did not write which run it is.
      await scene().silentFor(16_000, old)
      await scene().turn()
      old.seq = updated.seq
      expect(await scene().heartbeat(old)).toMatchObject({ nodeId: old.nodeId })
      expect(await runs()).toMatchObject([{ run_id: null }])
    })

    test('a caller without a join token of ours cannot make a frontend call a data port', async () => {
      const { port, second } = await twins()
      port.asked = 0
      expect(await scene().register(second, elsewhere, { token: 'wrong' })).toMatchObject({ status: 401 })
      expect(port.asked).toBe(0)
    })
  })
}
