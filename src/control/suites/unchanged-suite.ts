import { describe, expect, test } from 'vitest'
import type { ModelView } from '../../api/admin/model-schemas.ts'
import type { RuleView } from '../../api/admin/rule-schemas.ts'
import type { KeyCreated } from '../../api/admin/schemas.ts'
import { sceneOn, type OpenStore } from './control-suite.ts'

interface Refused {
  error: { code: string; message: string; param: string; current: RuleView | ModelView | null }
}

/** Two people who edit the same; run on each kind of store. */
export function describeUnchanged(storeName: string, openStore: OpenStore): void {
  describe(`saving what was seen on ${storeName}`, () => {
    const scene = sceneOn(openStore)
    const query = (seen?: number): string => (seen === undefined ? '' : `?if_updated_at=${seen}`)
    const saveRule = (min: number, seen?: number) =>
      scene().admin<RuleView & Refused>('POST', `/api/nodes/scheduling${query(seen)}`, {
        model_name: 'm',
        min_replicas: min,
      })
    const putModel = (parallel: number, seen?: number) =>
      scene().admin<ModelView & Refused>('PUT', `/api/models/m${query(seen)}`, { engine: 'sim', options: { parallel } })

    for (const [what, save, field] of [
      ['rule', saveRule, 'min_replicas'],
      ['model', putModel, 'options'],
    ] as const) {
      test(`the second of two changes of one ${what} is refused with the actor of the first, and nothing is lost`, async () => {
        const { updated_at: seen } = (await save(1)).body
        const first = await save(2, seen)
        expect(first.status).toBe(200)
        expect(first.body.updated_at).toBeGreaterThan(seen)
        const second = await save(3, seen)
        expect(second.status).toBe(409)
        const { error } = second.body
        expect(error).toMatchObject({ code: 'conflict', param: 'if_updated_at' })
        expect(error.message).toMatch(new RegExp(`^The ${what} .*"m" was changed meanwhile by admin at 20.*Z`))
        expect(error.current).toMatchObject({ updated_at: first.body.updated_at })
        expect((error.current as never)[field]).toEqual(first.body[field as never])
        const third = await save(3, error.current!.updated_at)
        expect(third.status).toBe(200)
        expect((await save(4)).status).toBe(200)
      })

      test(`a new ${what} does not replace one that another admin has made meanwhile`, async () => {
        expect((await save(1, 0)).status).toBe(200)
        expect((await save(2, 0)).body.error).toMatchObject({ code: 'conflict' })
      })

      test(`a ${what} that was removed meanwhile is not made again`, async () => {
        const { updated_at: seen } = (await save(1)).body
        await scene().admin('DELETE', what === 'rule' ? '/api/nodes/scheduling/m' : '/api/models/m')
        const { error } = (await save(2, seen)).body
        expect(error).toMatchObject({ code: 'conflict', current: null })
        expect(error.message).toContain('was removed meanwhile by admin')
        expect((await save(2, 0)).status).toBe(200)
      })

      test(`of ten concurrent changes of one ${what} one succeeds`, async () => {
        const { updated_at: seen } = (await save(1)).body
        const answers = await Promise.all(Array.from({ length: 10 }, (_, i) => save(i + 2, seen)))
        const saved = answers.filter(({ status }) => status === 200)
        expect(saved).toHaveLength(1)
        expect(answers.filter(({ status }) => status === 409)).toHaveLength(9)
      })
    }

    test('each change has a later time than the one before, however fast they come', async () => {
      const times: number[] = []
      for (let i = 0; i < 20; i += 1) times.push((await saveRule(i)).body.updated_at)
      expect(times).toEqual([...new Set(times)].toSorted((a, b) => a - b))
    })

    test('an admin with an API key is named by it', async () => {
      const { updated_at: seen } = (await saveRule(1)).body
      const key = { name: 'deploy', scopes: ['admin'] }
      const { body } = await scene().admin<KeyCreated>('POST', '/api/keys', key)
      const rule = { model_name: 'm', min_replicas: 7 }
      await scene().call('POST', '/api/nodes/scheduling', rule, `Bearer ${body.key}`)
      expect((await saveRule(2, seen)).body.error.message).toContain('meanwhile by key deploy at')
    })

    test('a time that is none is refused', async () => {
      const { status, body } = await scene().admin<Refused>('POST', '/api/nodes/scheduling?if_updated_at=x', {
        model_name: 'm',
      })
      expect([status, body.error.param]).toEqual([400, 'if_updated_at'])
    })
  })
}
