import { describe, expect, test } from 'vitest'
import type { ModelSaved, ModelView } from '../../../../api/admin/model-schemas.ts'
import { saveDemand, listDemands } from '../../../../store/nouns/demands.ts'
import { listEvents } from '../../../../store/nouns/events.ts'
import { saveLoadInfo } from '../../../../store/nouns/load-info.ts'
import { saveFacts } from '../../../../store/nouns/model-facts.ts'
import { aStage } from '../../../../../test/support/control/admin-stage.ts'
import { aHeader } from '../../../../../test/support/builders.ts'
import { toModel } from './models.ts'

const sim = { name: 'm', engine: 'sim' }

describe('models', () => {
  test('are saved, listed and deleted, whatever characters their names have', async () => {
    const { scene } = await aStage()
    const name = 'org/модель #1 100%'
    const source = `hf:org/repo/m.gguf#sha256=${'0'.repeat(64)}`
    const saved = await scene.admin('POST', '/api/models', { name, engine: 'sim', source, options: { parallel: 2 } })
    expect(saved).toMatchObject({ status: 200, body: { name, engine: 'sim', source, options: { parallel: 2 } } })
    expect((await scene.admin('GET', '/api/models')).body).toMatchObject([{ name: 'm' }, { name }])
    const path = `/api/models/${encodeURIComponent(name)}`
    expect((await scene.admin('GET', path)).body).toMatchObject({ name, state: 'stopped', replicas: 0 })
    expect(await scene.admin('DELETE', path)).toMatchObject({ status: 200, body: { deleted: name } })
    expect((await scene.admin('DELETE', path)).status).toBe(404)
  })

  test('a model is put where its path says, with or without its name', async () => {
    const { scene } = await aStage()
    const settings = { engine: 'sim', memory: { vram: '12GiB' }, anti_affinity: 'large' }
    const { body } = await scene.admin<ModelSaved>('PUT', '/api/models/new', settings)
    expect(body).toMatchObject({ name: 'new', memory: { vram: 12 * 2 ** 30, ram: 0 }, anti_affinity: 'large' })
    const again = await scene.admin<ModelSaved>('PUT', '/api/models/new', { name: 'new', ...settings })
    expect(again.body).toMatchObject({ revision: body.revision, effect: { is_changed: false } })
  })

  test('show what is known of their files and of the last time they were loaded', async () => {
    const { scene } = await aStage()
    const { body: before } = await scene.admin<ModelView>('GET', '/api/models/m')
    expect(before).toMatchObject({ payload_bytes: null, header: null, last_loaded_at: null, last_load_ms: null })
    const { revision } = before
    const facts = { modelName: 'm', payloadBytes: 4000, header: aHeader(), problem: null, retryAtMs: null }
    const info = {
      modelName: 'm',
      engine: 'sim',
      engineVersion: null,
      source: null,
      options: { a: 1 },
      nodeName: 'thor',
    }
    await scene.db.transaction(async (tx) => {
      await saveFacts(tx, { ...facts, revision })
      await saveLoadInfo(tx, { ...info, revision, loadMs: 10 })
      await saveLoadInfo(tx, { ...info, revision, loadMs: 20.4 })
    })
    const { body } = await scene.admin<ModelView>('GET', '/api/models/m')
    expect(body).toMatchObject({ payload_bytes: 4000, header: { format: 'gguf', weights_bytes: 4_000_000 } })
    expect(body).toMatchObject({ last_load_ms: 20, last_loaded_at: expect.toSatisfy((at: number) => at > 1e12) })
    // What is known of other files says nothing of these; that it was loaded once stays true, even for a new one.
    await scene.admin('PUT', '/api/models/m', { engine: 'sim', options: { a: 2 } })
    expect((await scene.admin('GET', '/api/models/m')).body).toMatchObject({ header: null, last_load_ms: 20 })
    await scene.admin('DELETE', '/api/models/m')
    await scene.admin('POST', '/api/models', sim)
    expect((await scene.admin('GET', '/api/models/m')).body).toMatchObject({ last_load_ms: 20 })
  })

  test('what asks for a model goes with it', async () => {
    const { scene } = await aStage()
    await scene.db.transaction((tx) => saveDemand(tx, 'm', 60_000))
    await scene.admin('DELETE', '/api/models/m')
    expect(await listDemands(scene.db)).toEqual([])
  })
})

describe('saving a model', () => {
  async function saving(body: object) {
    const { scene } = await aStage()
    const changes = scene.asked.changes
    const { body: saved } = await scene.admin<ModelSaved>('POST', '/api/models?replace=true', body)
    const told = (await listEvents(scene.db, 0, 1000)).filter(({ action }) => action === 'model.saved')
    return { ...saved.effect, told: told.length, woken: scene.asked.changes - changes }
  }

  test('that means the same changes nothing and makes no event', async () => {
    expect(await saving({ options: {}, source: null, engine: 'sim', name: 'm' })).toEqual({
      is_changed: false,
      replaced: 0,
      text: 'Nothing changes: it means the same as before.',
      told: 0,
      woken: 0,
    })
  })

  test('with another meaning says how many replicas are replaced, and how', async () => {
    expect(await saving({ ...sim, options: { parallel: 2 } })).toEqual({
      is_changed: true,
      replaced: 1,
      text: '1 replica of the old revision is replaced: a new one is started first where there is room for both.',
      told: 1,
      woken: 1,
    })
  })

  test('with another need of memory restarts nothing', async () => {
    expect(await saving({ ...sim, memory: { ram: 1e9 } })).toMatchObject({
      is_changed: true,
      replaced: 0,
      text: expect.stringContaining('What runs stays as it is'),
      told: 1,
    })
  })

  test('that is new says when it will be loaded', async () => {
    expect(await saving({ name: 'x', engine: 'sim' })).toMatchObject({ text: 'Its first request loads it.', told: 1 })
  })
})

describe('the revision', () => {
  const revision = (fields: object) => toModel({ ...sim, ...fields }).revision

  test('is the hash of the meaning: order does not matter, values do', () => {
    expect(revision({ options: { a: 1, b: 2 } })).toBe(revision({ options: { b: 2, a: 1 } }))
    expect(revision({ options: { a: 1 } })).not.toBe(revision({ options: { a: 2 } }))
    expect(revision({ source: 'file:/m.gguf' })).not.toBe(revision({}))
    expect(revision({ source: 'file:/m.gguf' })).not.toBe(revision({ source: 'file:/n.gguf' }))
  })

  test('does not depend on where replicas may go', () => {
    expect(revision({ memory: { vram: '1GiB' }, anti_affinity: 'a' })).toBe(revision({}))
  })
})
