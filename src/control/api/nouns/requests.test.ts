import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { AppError } from '../../../platform/errors.ts'
import { openDatabase } from '../../../store/database.ts'
import { ControlScene } from '../../../../test/support/control/control-scene.ts'
import { aDecision } from '../../../../test/support/gateway/decision.ts'
import { KNOWN_REQUEST } from '../../../../test/support/control/scripted-worker.ts'
import { tempFolder } from '../../../../test/support/temp-folder.ts'

async function aScene(): Promise<ControlScene> {
  const db = await openDatabase({ file: join(tempFolder(), 'flotilla.db') })
  const scene = await ControlScene.start(db)
  onTestFinished(async () => {
    await scene.end()
    await db.close()
  })
  return scene
}

interface Answered {
  error: { code: string; message: string }
}

describe('GET /api/requests/:id', () => {
  test('is answered by the gateway that served the request, within a second', async () => {
    const scene = await aScene()
    const decision = aDecision({ request_id: 'a b/c' })
    scene.worker.script = { why: () => ({ decision }) }
    expect(await scene.admin('GET', `/api/requests/${encodeURIComponent('a b/c')}`)).toEqual({
      status: 200,
      body: decision,
    })
    expect(scene.worker.asked).toMatchObject([{ name: 'why', message: { request_id: 'a b/c' }, timeoutMs: 1000 }])
  })

  test('is not found when all gateways keep silent, and says that records do not last', async () => {
    const scene = await aScene()
    const { status, body } = await scene.admin<Answered>('GET', '/api/requests/nobody')
    expect(status).toBe(404)
    expect(body.error.message).toBe(
      'No gateway remembers a request "nobody". Records are kept for a while only, and not of every request.',
    )
  })

  test('is unavailable when there is no gateway at all', async () => {
    const scene = await aScene()
    scene.worker.leave()
    const { status, body } = await scene.admin<Answered>('GET', `/api/requests/${KNOWN_REQUEST}`)
    expect(status).toBe(503)
    expect(body.error.message).toBe('No gateway is on the bus. Try again when one is running.')
  })

  test('is unavailable, and not unknown, when the bus is away', async () => {
    const scene = await aScene()
    scene.worker.connected = false
    const { status, body } = await scene.admin<Answered>('GET', '/api/requests/nobody')
    expect(status).toBe(503)
    expect(body.error.message).toContain('This frontend has lost the bus')
  })

  test('hands on any other failure of the gateway', async () => {
    const scene = await aScene()
    scene.worker.script = { why: () => Promise.reject(new AppError('internal', 'broken')) }
    expect(await scene.admin<Answered>('GET', '/api/requests/x')).toMatchObject({
      status: 500,
      body: { error: { message: 'broken' } },
    })
  })
})
