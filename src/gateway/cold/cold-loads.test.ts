import { describe, expect, test } from 'vitest'
import { aColdPlace, outcomes } from '../../../test/support/gateway/cold-place.ts'
import { aRouteMessage, aRoutedModel, aSnapshot } from '../../../test/support/gateway/gateway-stage.ts'
import { aLoading, aLoadStatus } from '../../../test/support/control/scripted-control.ts'
import { routeKey } from '../table/routing-table.ts'

describe('waiting for a model', () => {
  test('1000 wait, control is asked once, and all go on the moment there is a route', async () => {
    const { clock, asks, wait, serves } = await aColdPlace()
    const waiters = Array.from({ length: 1000 }, () => wait())
    await clock.advance(1999)
    expect([asks(), outcomes(waiters)]).toEqual([['m 30000'], new Set(['waits'])])
    serves(aRouteMessage(0))
    await clock.advance(0)
    expect(outcomes(waiters)).toEqual(new Set(['goes on']))
    await clock.advance(60_000)
    expect(asks()).toHaveLength(1)
  })

  test('control is told every 2 s that somebody still waits, for each model by itself', async () => {
    const { clock, asks, wait } = await aColdPlace()
    wait()
    wait('other')
    await clock.advance(5000)
    expect(asks().toSorted()).toEqual(['m', 'm', 'm', 'other', 'other', 'other'].map((name) => `${name} 30000`))
  })

  test('a route of another model concerns nobody else', async () => {
    const { clock, wait, serves } = await aColdPlace()
    const [one, two] = [wait(), wait('other')]
    serves(aRouteMessage(0, { model_name: 'other' }))
    await clock.advance(0)
    expect([one.outcome, two.outcome]).toEqual(['waits', 'goes on'])
  })

  test('a request for a model with a route neither waits nor asks control', async () => {
    const { clock, asks, wait, serves } = await aColdPlace()
    serves(aRouteMessage(0))
    const waiter = wait()
    await clock.advance(0)
    expect([waiter.outcome, asks()]).toEqual(['goes on', []])
  })

  test('each hears how far it is, from the beginning on', async () => {
    const { clock, control, wait } = await aColdPlace()
    const first = wait()
    await clock.advance(0)
    const staging = aLoadStatus({ loading: aLoading() })
    control.answer = staging
    await clock.advance(2000)
    const second = wait()
    await clock.advance(0)
    expect(first.seen).toEqual([undefined, aLoadStatus(), staging])
    expect(second.seen).toEqual([staging])
  })

  test('a model that the table loses is no longer waited for', async () => {
    const { clock, wait, tell } = await aColdPlace()
    const waiter = wait()
    tell({ models: [aRoutedModel({ name: 'other' })] })
    await clock.advance(0)
    expect(waiter.outcome).toBe('goes on')
  })

  test.each(['ready', 'waiting', 'stopped', 'unknown'] as const)('it goes on while control says %s', async (state) => {
    const { clock, control, wait, serves } = await aColdPlace()
    control.answer = aLoadStatus({ state })
    const waiter = wait()
    await clock.advance(59_000)
    expect(waiter.outcome).toBe('waits')
    serves(aRouteMessage(0))
    await clock.advance(0)
    expect(waiter.outcome).toBe('goes on')
  })

  test('more than may wait are turned away, and a place that becomes free is free', async () => {
    const { clock, wait } = await aColdPlace({ mostWaiting: 2 })
    const [first] = [wait(), wait()]
    const third = wait()
    await clock.advance(0)
    expect([third.outcome, third.error?.status]).toEqual(['busy', 429])
    first.leave()
    const fourth = wait()
    await clock.advance(0)
    expect(fourth.outcome).toBe('waits')
  })

  test('one request may wait even with a limit of 0: otherwise no model would ever be loaded', async () => {
    const { clock, wait } = await aColdPlace({ mostWaiting: 0 })
    const waiter = wait()
    await clock.advance(0)
    expect(waiter.outcome).toBe('waits')
  })
})

describe('clients that go away', () => {
  test('the first one’s leaving does not disturb the others', async () => {
    const { clock, asks, wait, serves } = await aColdPlace()
    const [first, second] = [wait(), wait()]
    first.leave()
    await clock.advance(4000)
    expect([first.outcome, second.outcome, asks().length]).toEqual(['client_gone', 'waits', 3])
    serves(aRouteMessage(0))
    await clock.advance(0)
    expect(second.outcome).toBe('goes on')
  })

  test('after the last one nothing is sent any more, so that what was said runs out', async () => {
    const { clock, asks, wait } = await aColdPlace()
    for (const waiter of [wait(), wait()]) waiter.leave()
    await clock.advance(600_000)
    expect(asks()).toEqual(['m 30000'])
  })

  test('one who comes back at once finds the load going on, without another question', async () => {
    const { clock, control, asks, wait } = await aColdPlace()
    control.answer = aLoadStatus({ loading: aLoading() })
    wait().leave()
    await clock.advance(500)
    const again = wait()
    await clock.advance(1000)
    expect([again.seen[0]?.loading?.progress, asks().length]).toEqual([43, 1])
    await clock.advance(500)
    expect(asks()).toHaveLength(2)
  })

  test('one who has gone before it began asks for nothing', async () => {
    const { clock, coldLoads, asks } = await aColdPlace()
    await expect(coldLoads.wait('m', AbortSignal.abort())).rejects.toMatchObject({ code: 'client_gone' })
    await clock.advance(10_000)
    expect(asks()).toEqual([])
  })
})

test('while leaders change it is waited for, and the next one is told', async () => {
  const { clock, control, table, wait, asks } = await aColdPlace()
  control.answer = aLoadStatus({ loading: aLoading() })
  const waiter = wait()
  await clock.advance(3000)
  control.answer = undefined
  await clock.advance(20_000)
  expect(waiter.outcome).toBe('waits')
  control.answer = aLoadStatus({ loading: aLoading({ progress: 90 }) })
  await clock.advance(2000)
  expect([waiter.seen.at(-1)?.loading?.progress, asks().at(-1)]).toEqual([90, 'm 30000'])
  table.replace(aSnapshot({ feed: 'of the new leader', routes: [aRouteMessage(0)] }))
  await clock.advance(0)
  expect(waiter.outcome).toBe('goes on')
})

describe('after routes that did not serve', () => {
  async function aPassedOne() {
    const place = await aColdPlace()
    place.serves(aRouteMessage(0))
    const passed = new Set(place.table.routesOf('m').map(routeKey))
    return { ...place, waiter: place.wait('m', { passed }) }
  }

  test('another one is waited for', async () => {
    const { clock, serves, waiter } = await aPassedOne()
    await clock.advance(1000)
    expect(waiter.outcome).toBe('waits')
    serves(aRouteMessage(1))
    await clock.advance(0)
    expect(waiter.outcome).toBe('goes on')
  })

  test('the same replica in another generation is another one', async () => {
    const { clock, serves, waiter } = await aPassedOne()
    serves(aRouteMessage(0, { generation: 8 }))
    await clock.advance(0)
    expect(waiter.outcome).toBe('goes on')
  })

  test('they are tried again after 2 s', async () => {
    const { clock, waiter } = await aPassedOne()
    await clock.advance(1999)
    expect(waiter.outcome).toBe('waits')
    await clock.advance(1)
    expect(waiter.outcome).toBe('goes on')
  })
})

test('nobody is left waiting, and nothing asked, when the gateway ends', async () => {
  const { clock, coldLoads, wait, asks } = await aColdPlace()
  const waiter = wait()
  coldLoads.dispose()
  await clock.advance(600_000)
  expect([waiter.outcome, asks().length]).toEqual(['unavailable', 1])
})
