import { beforeEach, describe, expect, test } from 'vitest'
import type { Rule } from '../../core/types.ts'
import { aRule } from '../../../test/support/builders.ts'
import { setUpWorkbench, type ContractStore } from './contract.ts'
import type { Database } from '../sql.ts'
import {
  deleteRule,
  findRule,
  listRules,
  saveRule,
  setBreaker,
  setRuleSource,
  toRule,
  type Breaker,
} from '../nouns/rules.ts'

const broken: Breaker = {
  untilMs: 1_800_000_000_000,
  ticks: 3,
  decision: {
    at: 1_700_000_000_000,
    missing: 2,
    reason: 'no node has room',
    refusals: [{ node_name: 'thor', text: 'is "draining"' }],
    more: 4,
  },
}

export function describeRules(create: () => Promise<ContractStore>): void {
  describe('rules', () => {
    const bench = setUpWorkbench(create)
    let db: Database

    beforeEach(async () => {
      db = await bench.open()
    })
    const save = (fields: Partial<Rule> = {}) => db.transaction((tx) => saveRule(tx, aRule(fields)))
    const trip = (modelName: string) => db.transaction((tx) => setBreaker(tx, modelName, broken))

    test('are kept whole, whatever they ask for', async () => {
      const rules = [
        aRule({ modelName: 'a', minReplicas: 0, scaleToZeroAfterMs: 1_800_000, routePolicy: 'session' }),
        aRule({
          modelName: 'b',
          minReplicas: 0,
          spreadAll: true,
          source: 'config',
          nodeSelector: { tier: 'fast', зона: ['Köln "1"', 'a,b'], disk: '!slow', '!spot': '' },
        }),
        aRule({ modelName: 'org/c', minReplicas: 2, maxReplicas: 4 }),
      ]
      for (const rule of rules) await save(rule)
      expect((await listRules(db)).map(toRule)).toEqual(rules)
      expect(await findRule(db, 'org/c')).toMatchObject({ model_name: 'org/c', min_replicas: 2 })
      expect(await findRule(db, 'c')).toBeUndefined()
    })

    test('remember why they could not be met, and that they wait, until they are saved again', async () => {
      await save({ modelName: 'm' })
      await save({ modelName: 'other' })
      await trip('m')
      const row = await findRule(db, 'm')
      expect(row).toMatchObject({ unsatisfiable_until: broken.untilMs, last_decision: broken.decision })
      expect(toRule(row!)).toMatchObject({ unsatisfiableUntilMs: broken.untilMs, unsatisfiableTicks: 3 })
      expect(await findRule(db, 'other')).toMatchObject({ unsatisfiable_ticks: 0, last_decision: null })
      // A save that carries an old wait along does not keep it.
      await save(toRule(row!))
      expect((await listRules(db)).map(toRule)).toEqual([aRule({ modelName: 'm' }), aRule({ modelName: 'other' })])
      expect(await findRule(db, 'm')).toMatchObject({ last_decision: null })
    })

    test('may change hands, and nothing else of them does', async () => {
      await save({ modelName: 'm', source: 'config', nodeSelector: { tier: 'fast' } })
      await trip('m')
      await db.transaction((tx) => setRuleSource(tx, 'm', 'api'))
      expect(await findRule(db, 'm')).toMatchObject({
        source: 'api',
        node_selector: { tier: 'fast' },
        unsatisfiable_ticks: 3,
      })
    })

    test('that are gone stay gone', async () => {
      await save({ modelName: 'm' })
      expect(await db.transaction((tx) => deleteRule(tx, 'm'))).toBe(true)
      await trip('m')
      expect(await listRules(db)).toEqual([])
      expect(await db.transaction((tx) => deleteRule(tx, 'm'))).toBe(false)
    })
  })
}
