import { describe } from 'vitest'
import { bridgedByCable } from '../../../test/support/http/cable-bridge.ts'
import { serve } from '../../../test/support/http/http.ts'
import type { ExchangeHandler } from '../exchange.ts'
import { halfClosedSuite } from '../server/half-closed-suite.ts'
import { httpLimitsSuite } from '../server/limits-suite.ts'
import type { HttpLimits } from '../server/limits.ts'

/** A server that is asked on strands of a cable, by the wire or by node:http alone. */
const serveByCable =
  (isWire: boolean) =>
  async (handler: ExchangeHandler, limits: Partial<HttpLimits> = {}): Promise<string> => {
    const wire = isWire ? { wire: { prefix: '/', handler } } : {}
    return bridgedByCable(await serve(handler, { limits, ...wire, allowCable: () => {} }))
  }

describe.each([true, false])('on strands of a cable, by the wire: %s', (isWire) => {
  httpLimitsSuite(serveByCable(isWire), true)
  halfClosedSuite(serveByCable(isWire))
})
