import { describe, expect, test } from 'vitest'
import type { RuleView } from '../../api/admin/rule-schemas.ts'
import { listReplicas } from '../../store/nouns/replicas.ts'
import { setBreaker } from '../../store/nouns/rules.ts'
import { aReport } from '../../../test/support/builders.ts'
import { anApplicant, type Applicant } from '../../../test/support/control/control-scene.ts'
import { sceneOn, type OpenStore } from './control-suite.ts'

const PATH = '/api/nodes/scheduling'

/** What the API says of rules; run on each kind of store. */
export function describeRules(storeName: string, openStore: OpenStore): void {
  describe(`rules over the API on ${storeName}`, () => {
    const scene = sceneOn(openStore, { autoApprove: true })
    const rule = async (name = 'm') =>
      (await scene().admin<RuleView>('GET', `${PATH}/${encodeURIComponent(name)}`)).body
    const save = (body: object) => scene().admin<RuleView>('POST', PATH, body)

    async function aHeardNode(name: string, labels: Record<string, string> = {}): Promise<Applicant> {
      const who = anApplicant(name)
      await scene().register(who, { labels })
      await scene().heartbeat(who)
      return who
    }

    async function report(who: Applicant, fields: Parameters<typeof aReport>[0] = {}): Promise<void> {
      const mine = (await listReplicas(scene().db)).filter(({ nodeId }) => nodeId === who.nodeId)
      await scene().heartbeat(
        who,
        mine.map(({ id, generation }) => aReport({ id, generation, ...fields })),
      )
    }

    test('tell how many replicas they want, how many there are, and whether that is enough', async () => {
      await scene().wants(1)
      expect(await rule()).toMatchObject({ state: 'unmet', wanted: 1, replicas: 0, ready: 0, warning: null })
      expect((await rule()).reason).toBe('1 of 1 have found no node yet.')
      const thor = await aHeardNode('thor')
      await scene().turn()
      expect(await rule()).toMatchObject({ state: 'starting', replicas: 1, ready: 0, reason: '1 of 1 on the way.' })
      await report(thor)
      expect(await rule()).toMatchObject({ state: 'met', replicas: 1, ready: 1, reason: null })
      expect((await scene().admin<RuleView[]>('GET', PATH)).body).toEqual([await rule()])
    })

    test('that spread want one on each node that matches and takes part', async () => {
      await scene().wants(0)
      const thor = await aHeardNode('thor', { tier: 'fast' })
      const loki = await aHeardNode('loki', { tier: 'fast' })
      await aHeardNode('odin', { tier: 'slow' })
      await save({ model_name: 'm', spread_all: true, node_selector: { tier: '!slow' } })
      expect(await rule()).toMatchObject({ wanted: 2, state: 'unmet' })
      await scene().admin('POST', `/api/nodes/${loki.nodeId}/drain`)
      expect(await rule()).toMatchObject({ wanted: 1 })
      await scene().admin('PUT', `/api/nodes/${thor.nodeId}/labels`, { tier: 'slow' })
      expect(await rule()).toMatchObject({ wanted: 0, state: 'met', reason: 'No node matches it now.' })
    })

    test('that wait for their model say so', async () => {
      await save({ model_name: 'org/новый 🚢', min_replicas: 2 })
      expect(await rule('org/новый 🚢')).toMatchObject({
        state: 'unmet',
        reason: 'There is no model "org/новый 🚢": define the model or load it once.',
      })
      await save({ model_name: 'idle' })
      expect(await rule('idle')).toMatchObject({ state: 'met', reason: null, wanted: 0 })
    })

    test('that could not be met say why and until when they wait, until they are saved again', async () => {
      await scene().wants(2)
      const decision = { at: 1, missing: 2, reason: 'thor: is draining', refusals: [], more: 0 }
      const trip = (untilMs: number) =>
        scene().db.transaction((tx) => setBreaker(tx, 'm', { untilMs, ticks: 3, decision }))
      const untilMs = Date.now() + 300_000
      await trip(untilMs)
      const tripped = { reason: 'thor: is draining', unsatisfiable_ticks: 3, last_decision: decision }
      expect(await rule()).toMatchObject({ ...tripped, state: 'cooling', unsatisfiable_until: untilMs })
      await trip(1)
      expect(await rule()).toMatchObject({ ...tripped, state: 'unmet' })
      const { changes } = scene().asked
      const { body } = await save({ model_name: 'm', min_replicas: 2 })
      expect(body).toMatchObject({ unsatisfiable_until: null, unsatisfiable_ticks: 0, last_decision: null })
      expect(scene().asked.changes).toBe(changes + 1)
    })

    test('tell of a replica that failed', async () => {
      await scene().wants(1)
      const thor = await aHeardNode('thor')
      await scene().turn()
      await report(thor, { state: 'failed', error: 'the engine ended' })
      expect(await rule()).toMatchObject({ state: 'unmet', reason: 'm#0 failed: the engine ended' })
    })

    test('are replaced whole by what is saved, in the words of LocalAI, too', async () => {
      await save({ model_name: 'm', min_replicas: 1, node_selector: { tier: 'fast' }, route_policy: 'session' })
      const { body } = await save({ model_name: 'm', replicas: 'all', route_policy: '' })
      const replaced = { spread_all: true, min_replicas: 0, node_selector: {}, route_policy: 'least_loaded' }
      expect(body).toMatchObject({ ...replaced, source: 'api', scale_to_zero_after_s: null })
      expect((await save({ model_name: 'm', scale_to_zero_after_s: 60 })).body).toMatchObject({
        spread_all: false,
        scale_to_zero_after_s: 60,
      })
    })

    test('that were never made are not found', async () => {
      const missing = { status: 404, body: { error: { message: 'There is no rule for the model "org/m".' } } }
      expect(await scene().admin('GET', `${PATH}/org%2Fm`)).toMatchObject(missing)
      expect(await scene().admin('DELETE', `${PATH}/org%2Fm`)).toMatchObject(missing)
    })

    test.each([
      [{ spread_all: true, min_replicas: 1 }, 'spread_all', 'mutually exclusive'],
      [{ min_replicas: 2, max_replicas: 1 }, 'max_replicas', 'at least min_replicas'],
      [{ scale_to_zero_after_s: 1 }, 'scale_to_zero_after_s', 'at least 10'],
      [{ node_selector: { '!spot': 'x' } }, 'node_selector.!spot', 'takes no value'],
      [{ min_replica: 1 }, null, 'Unrecognized key: "min_replica"'],
    ])('that make no sense are refused by the field: %j', async (fields, param, message) => {
      expect(await save({ model_name: 'm', ...fields })).toMatchObject({
        status: 400,
        body: { error: { param, message: expect.stringContaining(message) } },
      })
      expect((await scene().admin<unknown>('GET', PATH)).body).toEqual([])
    })
  })
}
