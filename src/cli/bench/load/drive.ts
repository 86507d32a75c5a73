import type { Clock } from '../../../platform/run/clock.ts'
import type { Asker } from './asker.ts'
import { Conversation } from './conversation.ts'
import type { Plan } from './mix.ts'
import type { Outcome } from './outcome.ts'
import { seededRandom } from './random.ts'
import type { Results } from '../results.ts'
import { schedule } from './schedule.ts'

export interface DriveDeps {
  plan: Plan
  asker: Pick<Asker, 'ask'>
  results: Results
  clock: Clock
  /** When aborted, no more requests are sent; the asker handles the running ones. */
  stop: AbortSignal
}

/** Waiting conversations take memory, too. */
const MOST_THINKING = 100_000

/**
 * Open loop: every conversation begins when it is due, however many others still wait, and latency counts from when it
 * was due. Only the next turn of a conversation waits for the one before. Resolves when all have ended.
 */
export async function drive({ plan, asker, results, clock, stop }: DriveDeps): Promise<void> {
  const startMs = clock.nowMs()
  const untilMs = startMs + plan.warmUpMs + plan.forMs
  const arrivals = schedule(plan)
  const thinking = new Set<() => void>()
  let begun = 0
  let inFlight = 0

  return new Promise((resolve) => {
    let next = prepare()
    let cancel = (): void => {}
    const settle = (): void => {
      const isOver = next === undefined || stop.aborted
      if (isOver && inFlight === 0 && thinking.size === 0) {
        stop.removeEventListener('abort', end)
        resolve()
      }
    }
    const end = (): void => {
      cancel()
      for (const forget of thinking) forget()
      thinking.clear()
      settle()
    }
    stop.addEventListener('abort', end, { once: true })

    const turn = (conversation: Conversation, dueMs: number, ask = conversation.nextAsk()): void => {
      const { model } = conversation.part
      const line = results.due(model, dueMs - startMs)
      if (inFlight >= plan.mostInFlight) return line.notSent()
      inFlight += 1
      line.sent(clock.nowMs() - dueMs, inFlight)
      void asker
        .ask(ask, (ms) => line.gap(ms))
        .then((outcome) => {
          inFlight -= 1
          line.ended(outcome, dueMs, outcome.endMs - startMs)
          if (!outcome.failure && !conversation.isOver && !stop.aborted) think(conversation, outcome)
          settle()
        })
    }

    const think = (
      conversation: Conversation,
      { text, tokensOut, endMs }: Pick<Outcome, 'text' | 'tokensOut' | 'endMs'>,
    ): void => {
      const dueMs = endMs + conversation.hear(text, tokensOut)
      // Turns that are due after the end of the run are not sent.
      if (dueMs >= untilMs) return
      if (thinking.size >= MOST_THINKING) return results.due(conversation.part.model, dueMs - startMs).notSent()
      const forget = clock.after(dueMs - clock.nowMs(), () => {
        thinking.delete(forget)
        turn(conversation, dueMs)
        settle()
      })
      thinking.add(forget)
    }

    const pump = (): void => {
      while (next !== undefined && next.dueMs <= clock.nowMs()) {
        const { conversation, dueMs, ask } = next
        turn(conversation, dueMs, ask)
        next = prepare()
      }
      if (next === undefined) settle()
      else cancel = clock.after(next.dueMs - clock.nowMs(), pump)
    }
    pump()
    if (stop.aborted) end()
  })

  /** Prepared one ahead, so that no work is left when it is due. */
  function prepare() {
    const arrival = arrivals.next()
    if (arrival.done) return undefined
    const conversation = new Conversation(plan.parts[arrival.value.part]!, seededRandom(plan.seed, `talk ${begun++}`))
    return { conversation, dueMs: startMs + arrival.value.dueMs, ask: conversation.nextAsk() }
  }
}
