import { describe, expect, test } from 'vitest'
import { loading as loadingSchema } from '../../api/load-status.ts'
import type { Handler } from '../../http/server.ts'
import { aColdGateway } from '../../../test/support/gateway/cold-stage.ts'
import {
  answer,
  aRoutedModel,
  counted,
  errorOf,
  hangUp,
  refuseWith,
} from '../../../test/support/gateway/gateway-stage.ts'
import { aLoading, aLoadStatus } from '../../../test/support/control/scripted-control.ts'
import { until } from '../../../test/support/until.ts'
import { VirtualClock } from '../../../test/support/virtual-clock.ts'
import { WaitingRoom } from '../deliver/waiting-room.ts'

describe('a request for a model that is not loaded', () => {
  test('is served the moment it is, and its record tells how long that took', async () => {
    const clock = new VirtualClock(1_000_000)
    const { askCold, control, comes, decisionOf } = await aColdGateway([answer('served')], { clock })
    const asked = askCold()
    await until(() => control.asked.length === 1)
    await clock.advance(1500)
    comes()
    const response = await asked
    expect(await response.text()).toBe('served')
    await until(() => decisionOf(response) !== undefined)
    expect(decisionOf(response)).toMatchObject({ load_wait_ms: 1500, queued_ms: 0, duration_ms: 1500, status: 200 })
  })

  test('200 of them: one question, 200 answers, of which one client went away', async () => {
    const worker = counted(answer('served'))
    const { askCold, control, comes, decisions } = await aColdGateway([worker])
    const leave = new AbortController()
    const headers = { 'x-request-id': 'first' }
    const first = askCold({ signal: leave.signal, headers }).catch(() => 'gone')
    await until(() => control.asked.length === 1)
    const others = Array.from({ length: 200 }, () => askCold())
    leave.abort()
    expect(await first).toBe('gone')
    await until(() => decisions.find('first')?.status === 499)
    comes()
    const texts = await Promise.all(others.map(async (other) => (await other).text()))
    expect(new Set(texts)).toEqual(new Set(['served']))
    expect([worker.requests, control.asked.length]).toEqual([200, 1])
  })

  test('is told how far it is when its time is up', async () => {
    const { askCold, control } = await aColdGateway([], { modelLoadWaitMs: 50 })
    const loading = aLoading({ model: 'cold', eta_seconds: 120 })
    control.answer = aLoadStatus({ loading })
    const response = await askCold()
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '120'])
    const body = (await response.json()) as { error: object; loading: unknown }
    expect(body).toEqual({
      error: {
        message: 'Model "cold" is staging on node thor (43 %, about 2 min left). Try again in 120 s.',
        type: 'server_error',
        param: 'model',
        code: 'model_loading',
      },
      loading,
    })
    expect(loadingSchema.strict().parse(body.loading)).toEqual(loading)
  })

  test('gets it in Anthropic’s shape where their API is asked', async () => {
    const { post, control } = await aColdGateway([], { modelLoadWaitMs: 50 })
    control.answer = aLoadStatus({ loading: aLoading({ model: 'cold' }) })
    const response = await post('/v1/messages', { model: 'cold' })
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '5'])
    expect(await response.json()).toMatchObject({
      type: 'error',
      error: { type: 'overloaded_error', code: 'model_loading' },
      loading: { model: 'cold', node: 'thor', progress: 43 },
    })
  })

  test('hears at once that it failed, and why', async () => {
    const { askCold, control } = await aColdGateway([])
    control.answer = aLoadStatus({ state: 'failed', reason: 'The file is no GGUF.' })
    const response = await askCold()
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '30'])
    expect(await errorOf(response)).toMatchObject({
      code: 'model_load_failed',
      message: 'Model "cold" could not be loaded: The file is no GGUF. flotilla why cold tells more.',
    })
  })

  test.each([
    ['that no waiting helps', true, [null, 'false']],
    ['when to come back', undefined, ['30', null]],
  ])('hears %s, in a header that official clients obey', async (_, isFinal, headers) => {
    const { askCold, control } = await aColdGateway([], { modelLoadWaitMs: 50 })
    const status = aLoadStatus({ state: 'refused', reason: 'No node has tier=fast.' })
    control.answer = isFinal ? { ...status, is_final: isFinal } : status
    const response = await askCold()
    expect(response.status).toBe(503)
    expect(['retry-after', 'x-should-retry'].map((name) => response.headers.get(name))).toEqual(headers)
  })

  test('is 404 when the model is deleted meanwhile', async () => {
    const { askCold, control, tell } = await aColdGateway([])
    const asked = askCold()
    await until(() => control.asked.length === 1)
    tell({ models: [aRoutedModel()] })
    const response = await asked
    expect([response.status, (await errorOf(response)).code]).toEqual([404, 'model_not_found'])
  })

  test('is one too many where that many wait', async () => {
    const clock = new VirtualClock()
    const waitingRoom = new WaitingRoom(clock, { waitingPerModel: 1 })
    const { askCold, control, comes } = await aColdGateway([answer('{}')], { waitingRoom, clock })
    const first = askCold()
    await until(() => control.asked.length === 1)
    expect((await askCold()).status).toBe(429)
    comes()
    expect((await first).status).toBe(200)
  })

  test.each([
    ['that its key may not use', { model: 'cold' }, 403],
    ['that there is not', { model: 'none' }, 404],
  ])('%s loads nothing', async (_, body, status) => {
    const { ask, control } = await aColdGateway([], { caller: { keyId: 'k', models: ['m', 'none'] } })
    expect((await ask(body)).status).toBe(status)
    expect(control.asked).toEqual([])
  })

  test('is in vain where nobody answers: that is said', async () => {
    const { askCold, control } = await aColdGateway([], { modelLoadWaitMs: 50 })
    control.answer = undefined
    const error = await errorOf(await askCold())
    expect([error.code, error.message]).toEqual(['unavailable', expect.stringContaining('control plane')])
  })
})

describe('a request that finds no replica at the end', () => {
  test('waits for another, and is served', async () => {
    const [first, second] = [counted(refuseWith(503)), counted(answer('served'))]
    const { askCold, comes, goes } = await aColdGateway([first, second])
    comes(0)
    const asked = askCold()
    await until(() => first.requests === 1)
    goes(0)
    comes(1)
    expect(await (await asked).text()).toBe('served')
    expect([first.requests, second.requests]).toEqual([1, 1])
  })

  test('waits when they were gone before it had its turn', async () => {
    const clock = new VirtualClock()
    const waitingRoom = new WaitingRoom(clock, { runningPerModel: 1 })
    const { askCold, control, comes, goes } = await aColdGateway([answer('served')], { waitingRoom, clock })
    const leave = await waitingRoom.enter('cold', new AbortController().signal)
    comes()
    const asked = askCold()
    await until(() => waitingRoom.countsOf('cold').waiting === 1)
    goes()
    leave()
    await until(() => control.asked.length === 1)
    comes()
    expect(await (await asked).text()).toBe('served')
  })

  test('is tried again with the same after a pause: its worker may have started anew', async () => {
    const clock = new VirtualClock()
    let isBack = false
    const worker = counted((request, response) => (isBack ? answer('back') : refuseWith(503))(request, response))
    const { askCold, comes } = await aColdGateway([worker], { clock, probeTtlMs: 0 })
    comes()
    const asked = askCold()
    await until(() => worker.requests === 1)
    isBack = true
    await clock.advance(1999)
    expect(worker.requests).toBe(1)
    await clock.advance(1)
    expect(await (await asked).text()).toBe('back')
  })

  test('begins three times at most', async () => {
    const clock = new VirtualClock()
    const worker = counted(refuseWith(503))
    const { askCold, comes } = await aColdGateway([worker], { clock, probeTtlMs: 0 })
    comes()
    const asked = askCold()
    for (let round = 1; round <= 3; round += 1) {
      await until(() => worker.requests === round)
      await clock.advance(2000)
    }
    const response = await asked
    expect([response.status, response.headers.get('retry-after'), worker.requests]).toEqual([503, '2', 3])
    expect((await errorOf(response)).message).toContain('its replica refused')
  })

  test('waits when nobody was at home', async () => {
    const { askCold, comes, goes, control, decisionOf } = await aColdGateway([answer('served')], {
      addresses: ['127.0.0.1:1'],
      probeTtlMs: 0,
    })
    comes(1)
    const asked = askCold()
    await until(() => control.asked.length === 1)
    goes(1)
    comes(0)
    const response = await asked
    expect(await response.text()).toBe('served')
    await until(() => decisionOf(response) !== undefined)
    expect(decisionOf(response)?.tries.map((tried) => tried.outcome)).toEqual(['unreachable', 'served'])
  })

  test('waits for as long as its time lasts where nobody can be reached: control replaces a machine that is lost', async () => {
    const clock = new VirtualClock()
    const { askCold, comes, goes, control, decisionOf } = await aColdGateway([answer('served')], {
      addresses: ['127.0.0.1:1'],
      probeTtlMs: 0,
      clock,
    })
    comes(1)
    const asked = askCold()
    const response = asked.then((one) => one)
    for (let round = 1; round <= 10; round += 1) {
      await until(() => control.asked.length >= round)
      await clock.advance(2000)
    }
    goes(1)
    comes(0)
    expect(await (await response).text()).toBe('served')
    await until(async () => decisionOf(await response) !== undefined)
    expect(decisionOf(await response)!.load_wait_ms).toBeGreaterThanOrEqual(20_000)
  })

  test('is told that nobody could be reached when its time is up', async () => {
    const { askCold, comes } = await aColdGateway([], {
      addresses: ['127.0.0.1:1'],
      probeTtlMs: 0,
      modelLoadWaitMs: 50,
    })
    comes(0)
    const response = await askCold()
    expect([response.status, (await errorOf(response)).message]).toEqual([
      502,
      expect.stringContaining('its replica did not answer'),
    ])
  })

  describe.each([
    ['hung up on it', hangUp],
    ['was lost with it', refuseWith(502)],
  ])('and whose engine %s', (_, handler) => {
    /** The next one comes when the first is lost. */
    async function askTwo(next: Handler) {
      const workers = [counted(handler), counted(next)]
      const { askCold, comes, goes, control } = await aColdGateway(workers)
      comes(0)
      const asked = askCold()
      await until(() => control.asked.length === 1)
      goes(0)
      comes(1)
      const response = await asked
      expect(workers.map(({ requests }) => requests)).toEqual([1, 1])
      return response
    }

    test('waits for another, and is served', async () => {
      expect(await (await askTwo(answer('served'))).text()).toBe('served')
    })

    test('waits for another when both of its replicas were lost at once', async () => {
      const workers = [counted(handler), counted(handler), counted(answer('served'))]
      const { askCold, comes, goes, control, decisionOf } = await aColdGateway(workers)
      comes(0)
      comes(1)
      const asked = askCold()
      await until(() => control.asked.length === 1)
      goes(0)
      goes(1)
      comes(2)
      const response = await asked
      expect(await response.text()).toBe('served')
      await until(() => decisionOf(response) !== undefined)
      expect(
        decisionOf(response)
          ?.tries.map(({ replica_id: id }) => id)
          .toSorted(),
      ).toEqual(['c0', 'c1', 'c2'])
    })

    test('goes to no fourth when that happened three times: it may be the cause', async () => {
      const workers = [counted(handler), counted(handler), counted(handler), counted(answer('served'))]
      const { askCold, comes, goes, control } = await aColdGateway(workers)
      comes(0)
      comes(1)
      const asked = askCold()
      await until(() => control.asked.length === 1)
      goes(0)
      goes(1)
      comes(2)
      comes(3)
      const response = await asked
      // Which of the two that came is asked first is open.
      const most = workers.map(({ requests }) => requests)
      expect([most.slice(0, 2), response.ok]).toEqual([[1, 1], most[2] === 0])
      const lost = await aColdGateway(workers.slice(0, 3))
      for (const i of [0, 1, 2]) lost.comes(i)
      expect((await lost.askCold()).ok).toBe(false)
      expect(lost.control.asked).toEqual([])
    })
  })
})
