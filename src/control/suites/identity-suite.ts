import { describe, expect, test } from 'vitest'
import { recordRemoval } from '../../store/nouns/removed-nodes.ts'
import {
  anApplicant,
  CLUSTER_ID,
  JOIN_TOKEN,
  signatureOf,
  type Applicant,
} from '../../../test/support/control/control-scene.ts'
import { sceneOn, type OpenStore } from './control-suite.ts'

interface Refusal {
  error: { code: string; node?: string; cluster_id?: string }
}

/** Removed, unknown, or of another cluster: three answers; run on each kind of store. */
export function describeIdentity(storeName: string, openStore: OpenStore): void {
  describe(`the identity of a node, on ${storeName}`, () => {
    const scene = sceneOn(openStore, { autoApprove: true })
    const ask = (node: Applicant) => scene().signed<Refusal>(node, 'POST', `/api/node/${node.nodeId}/credentials`)

    test('a node that was removed hears that word, with the cluster that says it', async () => {
      const node = anApplicant()
      await scene().register(node)
      await scene().admin('DELETE', `/api/nodes/${node.nodeId}`)
      const { status, body } = await ask(node)
      expect([status, body.error]).toEqual([
        403,
        expect.objectContaining({ code: 'forbidden', node: 'removed', cluster_id: CLUSTER_ID }),
      ])
    })

    test('a node that the store has no row of is unknown and not removed; it may register again with its key', async () => {
      const node = anApplicant()
      await scene().register(node)
      const before = node.nodeId
      await scene().db.transaction((tx) => tx.query('delete from nodes'))
      const { status, body } = await ask(node)
      expect([status, body.error]).toEqual([
        404,
        expect.objectContaining({ code: 'node_unknown', cluster_id: CLUSTER_ID }),
      ])
      expect((await scene().register(node)).body).toMatchObject({ approved: true, cluster_id: CLUSTER_ID })
      expect(node.nodeId).not.toBe(before)
    })

    test('a machine that was removed joins anew when it is started again, as another node', async () => {
      const node = anApplicant()
      await scene().register(node)
      const before = { ...node }
      await scene().admin('DELETE', `/api/nodes/${node.nodeId}`)
      expect((await scene().register(node)).status).toBe(200)
      expect((await ask(node)).status).toBe(200)
      expect((await ask(before)).body.error).toMatchObject({ node: 'removed' })
    })

    test('removals are kept for the newest thousand nodes', async () => {
      const { db } = scene()
      await db.transaction(async (tx) => {
        for (let i = 0; i < 1010; i += 1) {
          await tx.query('insert into removed_nodes values ($1, $2, $3, $4)', [`n${i}`, `U${i}`, `node${i}`, i])
        }
      })
      await db.transaction((tx) => recordRemoval(tx, { id: 'last', public_key: 'U', name: 'last' }))
      const rows = await db.query<{ id: string }>('select id from removed_nodes order by removed_at')
      expect([rows.length, rows[0]!.id, rows.at(-1)!.id]).toEqual([1000, 'n11', 'last'])
    })

    test('a machine of another cluster is refused before its token is looked at, and listed by address', async () => {
      const node = anApplicant()
      const path = '/api/node/n1/credentials'
      const headers = (authorization: string) => ({ authorization, 'x-flotilla-cluster': 'another' })
      const calls = [
        fetch(`${scene().url}/api/node/register`, { method: 'POST', body: '{}', headers: headers('Bearer wrong') }),
        fetch(`${scene().url}${path}`, {
          method: 'POST',
          headers: headers(signatureOf(node, 'POST', path, Date.now())),
        }),
      ]
      for (const answer of await Promise.all(calls)) {
        const { error } = (await answer.json()) as Refusal
        expect([answer.status, error.code, error.cluster_id]).toEqual([409, 'other_cluster', CLUSTER_ID])
      }
      expect(scene().deps.conditions.problems()).toMatchObject([
        { kind: 'cluster', severity: 'error', text: expect.stringContaining('127.0.0.1') },
      ])
    })

    test('a machine that names this cluster is judged like any other', async () => {
      const headers = { authorization: `Bearer ${JOIN_TOKEN}`, 'x-flotilla-cluster': CLUSTER_ID }
      const answer = await fetch(`${scene().url}/api/node/register`, { method: 'POST', body: '{}', headers })
      expect(answer.status).toBe(400)
      expect(scene().deps.conditions.problems()).toEqual([])
    })
  })
}
