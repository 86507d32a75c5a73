import { describe, expect, test } from 'vitest'
import { ruleInput, type RuleView } from '../../api/admin/rule-schemas.ts'
import { listEvents } from '../../store/nouns/events.ts'
import { findRule, listRules, setBreaker } from '../../store/nouns/rules.ts'
import type { ControlScene } from '../../../test/support/control/control-scene.ts'
import { sceneOn, type OpenStore } from './control-suite.ts'
import { applyDeclaredRules } from '../changes/declared-rules.ts'

const PATH = '/api/nodes/scheduling'

/** Rules of the configuration and those of admins; run on each kind of store. */
export function describeDeclaredRules(storeName: string, openStore: OpenStore): void {
  describe(`rules of the configuration on ${storeName}`, () => {
    const scene = sceneOn(openStore)
    const apply = (...entries: object[]) =>
      applyDeclaredRules(
        scene().deps,
        entries.map((entry) => ruleInput.parse(entry)),
      )
    const told = async () =>
      (await listEvents(scene().db, 0, 1000))
        .filter(({ action }) => action.startsWith('rule.'))
        .map(({ actor, action, model_name: name }) => `${actor}: ${action} ${name}`)
    const sources = async () =>
      Object.fromEntries((await listRules(scene().db)).map(({ model_name: name, source }) => [name, source]))

    test('replace what there is for their models, whole, and leave the others', async () => {
      await saved(scene(), { model_name: 'a', min_replicas: 3, node_selector: { tier: 'x' }, route_policy: 'session' })
      await saved(scene(), { model_name: 'b', min_replicas: 1 })
      await apply({ model_name: 'a', max_replicas: 2 }, { model_name: 'c', replicas: 'all' })
      expect(await listRules(scene().db)).toMatchObject([
        { model_name: 'a', min_replicas: 0, max_replicas: 2, node_selector: {}, route_policy: 'least_loaded' },
        { model_name: 'b', min_replicas: 1 },
        { model_name: 'c', spread_all: true },
      ])
      expect(await sources()).toEqual({ a: 'config', b: 'api', c: 'config' })
      expect((await told()).slice(2)).toEqual(['config: rule.saved a', 'config: rule.saved c'])
    })

    test('that are as listed already are not written again, whoever starts and in whatever order they are written', async () => {
      await apply({ model_name: 'a', node_selector: { x: '1', y: '2' } }, { model_name: 'b', replicas: 'all' })
      const decision = { at: 1, missing: 1, reason: 'no room', refusals: [], more: 0 }
      await scene().db.transaction((tx) => setBreaker(tx, 'a', { untilMs: 9, ticks: 3, decision }))
      const [before, events, changes] = [await listRules(scene().db), await told(), scene().asked.changes]
      await apply({ model_name: 'b', spread_all: true }, { node_selector: { y: '2', x: '1' }, model_name: 'a' })
      expect(await listRules(scene().db)).toEqual(before)
      expect(await told()).toEqual(events)
      expect(scene().asked.changes).toBe(changes)
      await apply({ model_name: 'a' }, { model_name: 'b', spread_all: true })
      expect(await findRule(scene().db, 'a')).toMatchObject({ unsatisfiable_ticks: 0, last_decision: null })
    })

    test('by two frontends that start at once are made once', async () => {
      const entries = [{ model_name: 'a', min_replicas: 1 }, { model_name: 'b' }]
      await Promise.all([apply(...entries), apply(...entries)])
      expect(await told()).toEqual(['config: rule.saved a', 'config: rule.saved b'])
    })

    test('come all or not at all', async () => {
      const good = ruleInput.parse({ model_name: 'a', min_replicas: 1 })
      const bad = { ...good, model_name: 'b', min_replicas: -1 }
      await expect(applyDeclaredRules(scene().deps, [good, bad])).rejects.toThrow(/min_replicas|check/i)
      expect(await listRules(scene().db)).toEqual([])
      expect(await told()).toEqual([])
    })

    test('that are no longer listed stay, as an admin would have made them', async () => {
      await apply({ model_name: 'a', min_replicas: 1 }, { model_name: 'b' })
      await apply({ model_name: 'b' })
      expect(await sources()).toEqual({ a: 'api', b: 'config' })
      expect(await findRule(scene().db, 'a')).toMatchObject({ min_replicas: 1 })
      expect((await told()).slice(2)).toEqual(['config: rule.released a'])
      await apply()
      await apply()
      expect((await told()).slice(3)).toEqual(['config: rule.released b'])
    })

    test('may be changed and removed over the API, which warns that the next start brings them back', async () => {
      await apply({ model_name: 'a', min_replicas: 1 }, { model_name: 'b' })
      const warned = { source: 'config', warning: expect.stringContaining('the next start of a frontend overwrites') }
      expect(await saved(scene(), { model_name: 'a', min_replicas: 5 })).toMatchObject({ ...warned, min_replicas: 5 })
      expect((await scene().admin<RuleView>('GET', `${PATH}/a`)).body).toMatchObject(warned)
      await scene().admin('DELETE', `${PATH}/b`)
      const reasons = (await listEvents(scene().db, 0, 1000))
        .slice(-2)
        .map(({ actor, reason }) => `${actor}: ${reason}`)
      expect(reasons).toEqual([
        expect.stringContaining('admin: 5 to any number of replicas of a. It is in the configuration'),
        expect.stringContaining('admin: the rule for b was removed. It is in the configuration'),
      ])
      await apply({ model_name: 'a', min_replicas: 1 }, { model_name: 'b' })
      expect(await sources()).toEqual({ a: 'config', b: 'config' })
      expect(await findRule(scene().db, 'a')).toMatchObject({ min_replicas: 1 })
    })

    test('are there at the first turn', async () => {
      await apply({ model_name: 'm', replicas: 'all' })
      expect((await scene().turn()).world.rules).toMatchObject([{ modelName: 'm', spreadAll: true, source: 'config' }])
    })
  })
}

async function saved(scene: ControlScene, body: object): Promise<RuleView> {
  return (await scene.admin<RuleView>('POST', PATH, body)).body
}
