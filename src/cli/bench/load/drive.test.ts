import { expect, test } from 'vitest'
import { aPlan } from '../../../../test/support/cli/bench-plan.ts'
import { VirtualClock } from '../../../../test/support/virtual-clock.ts'
import type { Ask } from './asker.ts'
import { drive } from './drive.ts'
import type { Plan } from './mix.ts'
import type { Outcome } from './outcome.ts'
import { Results } from '../results.ts'

/** A clock whose timers may all fire late, as on a machine that has no time for us. */
class LateClock extends VirtualClock {
  lateMs = 0

  override after(delayMs: number, callback: () => void): () => void {
    return super.after(delayMs + this.lateMs, callback)
  }
}

/** A cluster that answers each request after some time, and a clock that moves it. */
function aRun(plan: Plan, answerMs: (nth: number) => number, lateMs = 0) {
  const clock = new LateClock(1000)
  clock.lateMs = lateMs
  const results = new Results([...new Set(plan.parts.map(({ model }) => model))], {
    warmUpMs: plan.warmUpMs,
    stepMs: 1000,
  })
  const stop = new AbortController()
  const asked: { atMs: number; ask: Ask }[] = []
  const ends = new Set<() => void>()
  const asker = {
    ask(ask: Ask, onGap: (ms: number) => void): Promise<Outcome> {
      const [atMs, tookMs] = [clock.nowMs(), answerMs(asked.length)]
      asked.push({ atMs, ask: structuredClone(ask) })
      return new Promise((resolve) => {
        const end = (failure?: Outcome['failure']): void => {
          ends.delete(abandon)
          const firstMs = atMs + Math.min(10, tookMs)
          onGap(5)
          resolve({ ...AN_OUTCOME, endMs: clock.nowMs(), firstMs, text: `answer ${asked.length}`, failure })
        }
        const abandon = (): void => end({ kind: 'unfinished', detail: '', message: '' })
        ends.add(abandon)
        clock.after(tookMs, () => end())
      })
    },
  }
  let isOver = false
  const ended = drive({ plan, asker, results, clock, stop: stop.signal }).then(() => (isOver = true))
  const interrupt = (): void => {
    stop.abort()
    for (const end of ends) end()
  }
  const tally = results.models.get('m')!
  const times = () => asked.map(({ atMs }) => atMs - 1000)
  return { clock, results, tally, asked, times, ended, interrupt, isOver: () => isOver }
}

const AN_OUTCOME = {
  tokensIn: 5,
  tokensOut: 2,
  isEstimated: false,
  isSentAgain: false,
  requestId: undefined,
  replica: undefined,
}

test('requests are sent when they are due, however long earlier ones take', async () => {
  const { clock, tally, times, isOver } = aRun(aPlan({ forMs: 5500 }), () => 60_000)
  await clock.advance(6000)
  expect(times()).toEqual([1000, 2000, 3000, 4000, 5000])
  expect([tally.sent, tally.answered, isOver()]).toEqual([5, 0, false])
  await clock.advance(60_000)
  expect([tally.answered, isOver()]).toEqual([5, true])
})

test('times are counted from when a request was due, also where this program is late itself', async () => {
  const { clock, results, tally } = aRun(aPlan({ forMs: 1500 }), () => 200, 300)
  await clock.advance(3000)
  // The timer of the answer is as late as that of the request.
  expect([tally.whole.most, tally.first.most, results.lag.most]).toEqual([300 + 200 + 300, 310, 300])
})

test('more than may be in flight are not sent, and counted', async () => {
  const { clock, tally, times, results } = aRun(aPlan({ forMs: 6500, mostInFlight: 2 }), () => 2500)
  await clock.advance(20_000)
  expect(times()).toEqual([1000, 2000, 4000, 5000])
  expect([tally.due, tally.sent, tally.notSent, tally.answered, results.mostInFlight]).toEqual([6, 4, 2, 4, 2])
})

test('what is due in the warm-up is sent and not counted', async () => {
  const { clock, tally, times } = aRun(aPlan({ warmUpMs: 2500, forMs: 2000 }), () => 100)
  await clock.advance(20_000)
  expect(times()).toEqual([1000, 2000, 3000, 4000])
  expect([tally.due, tally.answered, tally.gaps.count, tally.lastEndMs]).toEqual([2, 2, 2, 1600])
})

test('a turn follows its answer after a pause, with all that was said before', async () => {
  const part = { turns: { least: 3, most: 3 }, thinkMs: { least: 700, most: 700 } }
  const { clock, asked, times, tally } = aRun(aPlan({ part, mostConversations: 1, forMs: 60_000 }), () => 300)
  await clock.advance(60_000)
  expect(times()).toEqual([1000, 2000, 3000])
  const [first, second, third] = asked.map(({ ask }) => ask.messages)
  expect(second).toEqual([
    ...first!,
    { role: 'assistant', content: 'answer 1' },
    expect.objectContaining({ role: 'user' }),
  ])
  expect(third).toHaveLength(5)
  expect(asked.map(({ ask }) => ask.promptTokens)).toEqual([5, 12, 19])
  expect([tally.due, tally.answered, tally.whole.most]).toEqual([3, 3, 300])
})

test('when the time is up no further turn begins', async () => {
  const part = { turns: { least: 9, most: 9 }, thinkMs: { least: 900, most: 900 } }
  const { clock, times, isOver } = aRun(aPlan({ part, mostConversations: 1, forMs: 2500 }), () => 100)
  await clock.advance(4000)
  expect([times(), isOver()]).toEqual([[1000, 2000], true])
})

test('stopped in the middle, it sends nothing more and tells what had not ended', async () => {
  const part = { turns: { least: 2, most: 2 }, thinkMs: { least: 100_000, most: 100_000 } }
  const slowAfter = (nth: number) => (nth === 0 ? 100 : 60_000)
  const { clock, tally, interrupt, isOver, times } = aRun(aPlan({ part, forMs: 3_600_000 }), slowAfter)
  await clock.advance(3500)
  interrupt()
  await clock.advance(100)
  expect(isOver()).toBe(true)
  expect([tally.answered, tally.failed, tally.kinds.get('unfinished')]).toEqual([1, 2, 2])
  await clock.advance(500_000)
  expect(times()).toHaveLength(3)
})

test('the same seed asks the same, whatever the answers took', async () => {
  const plan = aPlan({ arrivals: 'poisson', part: { ratePerS: 5, prompt: { least: 1, most: 50 }, streamShare: 0.5 } })
  const [quick, slow] = [aRun(plan, () => 1), aRun(plan, (nth) => 100 * nth)]
  await quick.clock.advance(60_000)
  await slow.clock.advance(600_000)
  expect(quick.asked).toEqual(slow.asked)
  expect(new Set(quick.asked.map(({ ask }) => ask.messages[0]!.content)).size).toBe(quick.asked.length)
})
