import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { ModelSaved } from '../../api/admin/model-schemas.ts'
import { AppError } from '../../platform/errors.ts'
import { listRules } from '../../store/nouns/rules.ts'
import { aStage } from '../../../test/support/control/admin-stage.ts'
import { anEngine } from '../../../test/support/builders.ts'

interface Refused {
  error: { code: string; message: string; param: string | null; differences?: unknown }
}

const sim = { name: 'm', engine: 'sim' }

describe('adding a model of a name that is taken', () => {
  test('is refused with each difference, and changes nothing', async () => {
    const { scene } = await aStage()
    const other = { ...sim, options: { parallel: 2 }, anti_affinity: 'large' }
    const { status, body } = await scene.admin<Refused>('POST', '/api/models', other)
    expect(status).toBe(409)
    expect(body.error.message).toContain('options.parallel none → 2, anti_affinity none → large')
    expect(body.error.message).toContain('flotilla models set')
    expect(body.error).toMatchObject({
      code: 'conflict',
      param: 'name',
      differences: [
        { field: 'options.parallel', before: null, after: 2 },
        { field: 'anti_affinity', before: null, after: 'large' },
      ],
      current: { name: 'm', options: {} },
    })
    expect((await scene.admin('GET', '/api/models/m')).body).toMatchObject({ options: {}, anti_affinity: null })
  })

  test('is no mistake when it means the same, or when it is to replace it', async () => {
    const { scene } = await aStage()
    expect(await scene.admin('POST', '/api/models', sim)).toMatchObject({ status: 200 })
    const path = '/api/models?replace=true'
    const { status, body } = await scene.admin<ModelSaved>('POST', path, { ...sim, options: { parallel: 2 } })
    expect({ status, options: body.options }).toEqual({ status: 200, options: { parallel: 2 } })
  })

  test('of two at once only one is added', async () => {
    const { scene } = await aStage()
    const add = (parallel: number) =>
      scene.admin('POST', '/api/models', { name: 'x', engine: 'sim', options: { parallel } })
    const statuses = (await Promise.all([add(1), add(2), add(3)])).map(({ status }) => status)
    expect(statuses.toSorted((a, b) => a - b)).toEqual([200, 409, 409])
  })

  test('an existing rule that it would change counts as a difference', async () => {
    const { scene } = await aStage()
    await scene.admin('POST', '/api/nodes/scheduling', { model_name: 'm', min_replicas: 3 })
    const { status, body } = await scene.admin<Refused>('POST', '/api/models', { ...sim, replicas: 1 })
    expect(status).toBe(409)
    expect(body.error.differences).toEqual([{ field: 'replicas', before: 3, after: 1 }])
  })
})

describe('a model and the rule that was made with it', () => {
  test('go together', async () => {
    const { scene } = await aStage()
    await scene.admin('POST', '/api/models', { name: 'x', engine: 'sim', replicas: 2 })
    expect(await listRules(scene.db, ['x'])).toMatchObject([{ min_replicas: 2, max_replicas: 0 }])
    expect((await scene.admin('DELETE', '/api/models/x')).body).toEqual({ deleted: 'x', rule: 'removed' })
    expect(await listRules(scene.db, ['x'])).toEqual([])
  })

  test('part when the rule was written by itself, before or after', async () => {
    const { scene } = await aStage()
    const rule = (name: string) => scene.admin('POST', '/api/nodes/scheduling', { model_name: name, min_replicas: 1 })
    await rule('before')
    await scene.admin('POST', '/api/models', { name: 'before', engine: 'sim', replicas: 2 })
    await scene.admin('POST', '/api/models', { name: 'after', engine: 'sim', replicas: 2 })
    await rule('after')
    for (const name of ['before', 'after']) {
      expect((await scene.admin('DELETE', `/api/models/${name}`)).body).toEqual({ deleted: name, rule: 'kept' })
    }
    await scene.admin('POST', '/api/models', { name: 'alone', engine: 'sim' })
    expect((await scene.admin('DELETE', '/api/models/alone')).body).toMatchObject({ rule: null })
  })

  test('part also by what is left when the event of the rule is gone', async () => {
    const { scene } = await aStage()
    await scene.admin('POST', '/api/models', { name: 'plain', engine: 'sim', replicas: 2 })
    const more = { model_name: 'more', min_replicas: 1, route_policy: 'session' }
    await scene.admin('POST', '/api/models', { name: 'more', engine: 'sim' })
    await scene.admin('POST', '/api/nodes/scheduling', more)
    await scene.db.transaction((tx) => tx.query("delete from events where action = 'rule.saved'", []))
    expect((await scene.admin('DELETE', '/api/models/plain')).body).toMatchObject({ rule: 'removed' })
    expect((await scene.admin('DELETE', '/api/models/more')).body).toMatchObject({ rule: 'kept' })
  })
})

describe('a model that cannot run', () => {
  const llama = anEngine({ name: 'llama', option_names: ['gpu_layers'], needs_source: true })
  const engines = [anEngine({ option_names: ['tokens_per_s'] }), llama]

  async function heardStage() {
    const stage = await aStage()
    await stage.scene.heartbeat(stage.thor, [], { engines })
    return stage
  }

  test.each([
    [{ engine: 'simm' }, 'engine', 'No node knows the engine "simm". Did you mean sim?'],
    [{ engine: 'sim', options: { tokenz_per_s: 5 } }, 'options.tokenz_per_s', 'Did you mean tokens_per_s?'],
    [{ engine: 'llama' }, 'source', 'cannot start a model that has no source'],
    [{ engine: 'llama', source: 'frontend:none.gguf' }, 'source', 'There is no "none.gguf" below the models folder'],
  ])('%j is refused, and accepted for later', async (fields, param, text) => {
    const { scene } = await heardStage()
    for (const [method, path] of [
      ['POST', '/api/models'],
      ['PUT', '/api/models/x'],
    ] as const) {
      const body = { name: 'x', ...fields }
      const refused = await scene.admin<Refused>(method, path, body)
      expect(refused).toMatchObject({ status: 400, body: { error: { param } } })
      expect(refused.body.error.message).toContain(text)
      expect(refused.body.error.message).toContain('later=true')
      expect((await scene.admin(method, `${path}?later=true`, body)).status).toBe(200)
      await scene.admin('DELETE', '/api/models/x')
    }
  })

  test('a file that every node says it does not have is missing; one that a node may have is not', async () => {
    const { scene } = await heardStage()
    const body = { name: 'x', engine: 'llama', source: 'file:/nope.gguf' }
    scene.worker.script.modelInspect = () => {
      throw new AppError('not_found', 'There is no file or folder /nope.gguf here.')
    }
    const refused = await scene.admin<Refused>('POST', '/api/models', body)
    expect(refused.status).toBe(400)
    expect(refused.body.error.message).toContain('There is no file or folder /nope.gguf on thor.')
    scene.worker.script.modelInspect = () => {
      throw new AppError('unavailable', 'No answer.')
    }
    expect((await scene.admin('POST', '/api/models', body)).status).toBe(200)
  })

  test('a file below the models folder of the frontend is found', async () => {
    const { scene, models } = await heardStage()
    mkdirSync(join(models, 'a'), { recursive: true })
    writeFileSync(join(models, 'a/m.gguf'), 'x')
    const body = { name: 'x', engine: 'llama', source: 'frontend:a/m.gguf' }
    expect((await scene.admin('POST', '/api/models', body)).status).toBe(200)
  })

  test('what was accepted before does not stand in the way of another change', async () => {
    const { scene } = await heardStage()
    await scene.admin('PUT', '/api/models/x?later=true', { engine: 'warp' })
    expect((await scene.admin('PUT', '/api/models/x', { engine: 'warp', anti_affinity: 'a' })).status).toBe(200)
  })
})
