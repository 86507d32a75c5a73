import { describe, expect, test } from 'vitest'
import { silentLogger } from '../../platform/run/log.ts'
import { aColdPlace, outcomes, waiterOf } from '../../../test/support/gateway/cold-place.ts'
import { aRouteMessage } from '../../../test/support/gateway/gateway-stage.ts'
import { aLoading, aLoadStatus } from '../../../test/support/control/scripted-control.ts'
import { ColdLoads } from './cold-loads.ts'

describe('a load that failed', () => {
  const failed = aLoadStatus({ state: 'failed', reason: 'The file is no GGUF.', next_attempt_at: 1_100_000 })

  test('every waiter gets the cause and the time of the next attempt', async () => {
    const { clock, control, wait } = await aColdPlace()
    const waiters = Array.from({ length: 50 }, () => wait())
    await clock.advance(1000)
    control.answer = failed
    await clock.advance(1000)
    expect(outcomes(waiters)).toEqual(new Set(['model_load_failed']))
    expect(waiters[7]!.error).toMatchObject({ status: 503, retryAfterS: 78 })
    expect(waiters[7]!.error?.message).toContain(
      'could not be loaded: The file is no GGUF. The next attempt is in 78 s.',
    )
  })

  test('fails later requests at once, and keeps the model wanted for clients that retry', async () => {
    const { clock, control, asks, wait } = await aColdPlace()
    control.answer = failed
    wait()
    await clock.advance(500)
    const second = wait()
    await clock.advance(0)
    expect([second.outcome, second.seen]).toEqual(['model_load_failed', []])
    // Told once, for the first and the second together; the time is that of the later one.
    await clock.advance(60_000)
    expect(asks()).toEqual(['m 30000', 'm 139500'])
  })

  test('is a question to control again a second later: it may have been mended', async () => {
    const { clock, control, wait, asks } = await aColdPlace()
    control.answer = failed
    wait()
    await clock.advance(1500)
    control.answer = aLoadStatus()
    const waiter = wait()
    await clock.advance(0)
    expect([waiter.outcome, asks().length]).toEqual(['waits', 3])
  })

  test('a crowd that asks for it all the time is a question or two a second', async () => {
    const { clock, control, wait, asks } = await aColdPlace()
    control.answer = failed
    for (let i = 0; i < 1000; i += 1) {
      wait()
      await clock.advance(10)
    }
    expect(asks().length).toBeLessThanOrEqual(20)
  })
})

describe('a model for which there is no room', () => {
  const refused = aLoadStatus({ state: 'refused', reason: 'Free 3.1 GiB on gpu 0 of thor.' })

  test('is told so after 3 s of refusals in a row', async () => {
    const { clock, control, wait } = await aColdPlace()
    control.answer = refused
    const waiters = [wait(), wait()]
    await clock.advance(2999)
    expect(outcomes(waiters)).toEqual(new Set(['waits']))
    await clock.advance(1001)
    expect(outcomes(waiters)).toEqual(new Set(['no_capacity']))
    expect(waiters[0]!.error?.message).toContain('Free 3.1 GiB on gpu 0 of thor.')
    const next = wait()
    await clock.advance(0)
    expect(next.outcome).toBe('no_capacity')
  })

  test('is waited for when room is found in between', async () => {
    const { clock, control, wait } = await aColdPlace()
    control.answer = refused
    const waiter = wait()
    await clock.advance(1000)
    control.answer = aLoadStatus()
    await clock.advance(2000)
    control.answer = refused
    await clock.advance(3000)
    expect(waiter.outcome).toBe('waits')
  })

  test('is waited for longer in a cluster that has just started', async () => {
    const { table, clock, control } = await aColdPlace()
    const shared = { table, bus: control.bus, clock, log: silentLogger, waitMs: 60_000, mostWaiting: 1000 }
    control.answer = refused
    const waiter = waiterOf(new ColdLoads(shared))()
    await clock.advance(9999)
    expect(waiter.outcome).toBe('waits')
    await clock.advance(1)
    expect(waiter.outcome).toBe('no_capacity')
  })
})

describe('when the time is up', () => {
  test.each([
    [undefined, 60],
    [40, 40],
    [2, 5],
    [5000, 300],
  ])('with %s s to go the client is told to come back in %i s, and is waited for', async (eta, retryAfterS) => {
    const { clock, control, asks, wait } = await aColdPlace()
    const loading = aLoading(eta === undefined ? {} : { eta_seconds: eta })
    control.answer = aLoadStatus({ loading })
    const waiter = wait()
    await clock.advance(59_999)
    expect([waiter.outcome, asks().length]).toEqual(['waits', 30])
    await clock.advance(1)
    expect([waiter.outcome, waiter.error?.retryAfterS]).toEqual(['model_loading', retryAfterS])
    expect(waiter.error?.toBody()).toMatchObject({ error: { code: 'model_loading' }, loading })
    await clock.advance(600_000)
    expect(asks().filter((ask) => ask !== 'm 30000')).toEqual([`m ${(retryAfterS + 60) * 1000 - 1000}`])
  })

  test('the model stays wanted for its retry although the others, which still waited, go away', async () => {
    const { clock, wait, asks } = await aColdPlace()
    const [first, other] = [wait('m', { budgetMs: 59_000 }), wait()]
    await clock.advance(59_500)
    other.leave()
    await clock.advance(600_000)
    expect([first.outcome, other.outcome]).toEqual(['model_loading', 'client_gone'])
    // 60 s and 60 s more from the answer to the client at 59 s; control is told at 60.5 s.
    expect(asks().at(-1)).toBe('m 118500')
  })

  test('others go on waiting, each for its own time', async () => {
    const { clock, wait } = await aColdPlace()
    const first = wait()
    await clock.advance(30_000)
    const second = wait()
    await clock.advance(30_000)
    expect([first.outcome, second.outcome]).toEqual(['model_loading', 'waits'])
  })

  test('0 is no limit', async () => {
    const { clock, wait, serves } = await aColdPlace({ waitMs: Infinity })
    const waiter = wait()
    await clock.advance(7_200_000)
    expect(waiter.outcome).toBe('waits')
    serves(aRouteMessage(0))
    await clock.advance(0)
    expect(waiter.outcome).toBe('goes on')
  })

  test('control that did not answer is named', async () => {
    const { clock, control, wait, asks } = await aColdPlace()
    control.answer = undefined
    const waiter = wait()
    await clock.advance(60_000)
    expect([waiter.outcome, asks().length]).toEqual(['unavailable', 30])
    expect(waiter.error?.message).toContain(
      'control plane, which decides where to load it, does not answer: No answer on',
    )
  })
})
