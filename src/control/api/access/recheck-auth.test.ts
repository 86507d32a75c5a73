import { EventEmitter } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import { AppError } from '../../../platform/errors.ts'
import { VirtualClock } from '../../../../test/support/virtual-clock.ts'
import { endWhenRefused } from './recheck-auth.ts'

class FakeResponse extends EventEmitter {
  isEnded = false
  end(): void {
    this.isEnded = true
    this.emit('close')
  }
}

function aStream(answers: (() => Promise<unknown>)[]) {
  const clock = new VirtualClock(0)
  const response = new FakeResponse()
  let checks = 0
  const check = (): Promise<unknown> => {
    checks += 1
    return (answers.shift() ?? (() => Promise.resolve()))()
  }
  endWhenRefused({} as IncomingMessage, response as unknown as ServerResponse, clock, check)
  return { clock, response, checks: () => checks }
}

const allowed = (): Promise<void> => Promise.resolve()
const refused = (): Promise<never> => Promise.reject(new AppError('unauthorized', 'revoked'))
const away = (): Promise<never> => Promise.reject(new AppError('unavailable', 'no store'))

test('a stream ends within ten seconds of its reader being let in no more', async () => {
  const { clock, response } = aStream([allowed, refused])
  await clock.advance(10_000)
  expect(response.isEnded).toBe(false)
  await clock.advance(10_000)
  expect(response.isEnded).toBe(true)
})

test('a store that is away ends nothing, and is asked again', async () => {
  const { clock, response } = aStream([away, away, refused])
  await clock.advance(20_000)
  expect(response.isEnded).toBe(false)
  await clock.advance(10_000)
  expect(response.isEnded).toBe(true)
})

test('a stream that is over is not checked any more', async () => {
  const { clock, response, checks } = aStream([])
  await clock.advance(10_000)
  response.end()
  await clock.advance(60_000)
  expect(checks()).toBe(1)
})
