import { expect, test } from 'vitest'
import { silentLogger } from '../../platform/run/log.ts'
import { aRouteMessage, aSnapshot } from '../../../test/support/gateway/gateway-stage.ts'
import { VirtualClock } from '../../../test/support/virtual-clock.ts'
import { LiveTable } from '../table/routing-table.ts'
import { Silence, type Awaited } from './stalled-requests.ts'

const SECOND = 1000

/** Requests at two replicas on two nodes, of which those in `away` do not answer. */
function aSilence(answerWaitMs?: number) {
  const clock = new VirtualClock(1_000_000)
  const table = new LiveTable()
  table.replace(aSnapshot({ routes: [aRouteMessage(0), aRouteMessage(1)] }))
  const away = new Set<string>()
  const asked: string[] = []
  const askNode = async ({ nodeId }: { nodeId: string }) => {
    asked.push(nodeId)
    return away.has(nodeId) ? 'no answer within 2 s' : undefined
  }
  const silence = new Silence({ clock, log: silentLogger, askNode, answerWaitMs })
  const aRequest = (i: number, { canMove = true } = {}) => {
    const awaited: Awaited & { pieces: number; givenUp: string | undefined } = {
      route: table.route(`r${i}`)!,
      pieces: 0,
      mayMove: () => canMove && awaited.pieces === 0,
      givenUp: undefined,
      giveUp(why: string) {
        awaited.givenUp = why
        silence.forget(awaited)
      },
    }
    silence.watch(awaited)
    return awaited
  }
  return { clock, silence, away, asked, aRequest }
}

test('an engine may be silent for as long as it likes while its node answers', async () => {
  const { clock, aRequest } = aSilence()
  const request = aRequest(0)
  await clock.advance(600 * SECOND)
  expect(request.givenUp).toBeUndefined()
})

test('one that does not begin its answer for an hour, or as long as it may, is given up; one that has begun is not', async () => {
  for (const [wait, limitMs] of [
    [undefined, 3600 * SECOND],
    [10 * SECOND, 10 * SECOND],
  ] as const) {
    const { clock, aRequest } = aSilence(wait)
    const [request, begun] = [aRequest(0), aRequest(1)]
    begun.pieces = 1
    await clock.advance(limitMs - SECOND)
    expect(request.givenUp).toBeUndefined()
    await clock.advance(SECOND)
    expect([request.givenUp, begun.givenUp]).toEqual([expect.stringContaining('--answer-wait'), undefined])
  }
})

test('a request that nobody has answered goes elsewhere when its node is gone, and only that', async () => {
  const { clock, away, aRequest } = aSilence()
  away.add('n0')
  const [here, there] = [aRequest(0), aRequest(1)]
  await clock.advance(2999)
  expect(here.givenUp).toBeUndefined()
  await clock.advance(1)
  expect([here.givenUp, there.givenUp]).toEqual(['its node does not answer: no answer within 2 s', undefined])
})

test.each([
  ['that has begun to answer', {}, 1],
  ['that has no other replica to go to', { canMove: false }, 0],
])('one %s waits longer, and for ever when its node comes back', async (_, options, pieces) => {
  const { clock, away, aRequest } = aSilence()
  away.add('n0')
  const [first, second] = [aRequest(0, options), aRequest(0, options)]
  first.pieces = second.pieces = pieces
  await clock.advance(15 * SECOND)
  second.pieces += 1
  await clock.advance(10 * SECOND)
  expect([first.givenUp !== undefined, second.givenUp]).toEqual([true, undefined])
  away.clear()
  await clock.advance(600 * SECOND)
  expect(second.givenUp).toBeUndefined()
})

test('a node is asked only when it has been silent, and not by every request', async () => {
  const { clock, asked, aRequest, silence } = aSilence()
  const requests = Array.from({ length: 100 }, () => aRequest(0))
  for (let i = 0; i < 10; i += 1) {
    await clock.advance(SECOND)
    for (const request of requests) request.pieces += 1
  }
  expect(asked).toEqual([])
  await clock.advance(4 * SECOND)
  expect(asked).toEqual(['n0'])
  for (const request of requests) silence.forget(request)
  await clock.advance(60 * SECOND)
  expect(asked).toEqual(['n0'])
})
