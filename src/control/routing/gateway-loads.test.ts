import { expect, test } from 'vitest'
import { VirtualClock } from '../../../test/support/virtual-clock.ts'
import { GatewayLoads } from './gateway-loads.ts'

const ready = { id: 'r1', state: 'ready', inFlight: 7 } as const

test('what gateways have in flight and waiting is summed up', () => {
  const loads = new GatewayLoads(new VirtualClock())
  loads.hear({ gateway: 'a', seq: 1, counts: { r1: 2, r2: 1 }, waiting: { m: 3 } })
  loads.hear({ gateway: 'b', seq: 1, counts: { r1: 1 } })
  expect(loads.inFlightOf(ready)).toBe(3)
  expect(loads.inFlightOf({ ...ready, id: 'constructor' })).toBe(0)
  expect([loads.waitingFor('m'), loads.waitingFor('constructor')]).toEqual([3, 0])
})

test('until a gateway was heard, and for what they no longer route to, the word of the worker counts', () => {
  const loads = new GatewayLoads(new VirtualClock())
  expect(loads.inFlightOf(ready)).toBe(7)
  loads.hear({ gateway: 'a', seq: 1, counts: {} })
  expect(loads.inFlightOf(ready)).toBe(0)
  expect(loads.inFlightOf({ ...ready, state: 'draining' })).toBe(7)
})

test('a silent gateway has nothing in flight, and a late report of it brings nothing back', async () => {
  const clock = new VirtualClock()
  const loads = new GatewayLoads(clock)
  loads.hear({ gateway: 'a', seq: 2, counts: { r1: 2 }, waiting: { m: 3 } })
  loads.hear({ gateway: 'a', seq: 1, counts: { r1: 9 } })
  expect(loads.inFlightOf(ready)).toBe(2)
  await clock.advance(2001)
  expect([loads.inFlightOf(ready), loads.waitingFor('m')]).toEqual([0, 0])
})
