import type { Clock } from '../../platform/run/clock.ts'
import { span } from '../terminal/format.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { truncate } from '../terminal/text-width.ts'
import { MOST, type Plan } from './load/mix.ts'
import type { Results } from './results.ts'
import { timeText } from './time-text.ts'

const EVERY_MS = 250

/** The progress of a run, on one line that changes; nothing without a terminal. */
export function showProgress(terminal: Terminal, plan: Plan, results: Results, clock: Clock): { end(): void } {
  if (!terminal.interactive) return { end() {} }
  const startMs = clock.nowMs()
  let cancel = (): void => {}
  const tick = (): void => {
    terminal.live(truncate(progressText(plan, results, clock.nowMs() - startMs), terminal.columns - 1))
    cancel = clock.after(EVERY_MS, tick)
  }
  tick()
  return {
    end() {
      cancel()
      terminal.live('')
    },
  }
}

/** `12s of 30s  60 sent  3 in flight  57 answered  0 failed  first token 41 ms`. */
export function progressText({ warmUpMs, forMs, mostConversations }: Plan, results: Results, sinceMs: number): string {
  const tallies = [...results.models.values()]
  const sum = (count: 'sent' | 'answered' | 'failed' | 'notSent'): number =>
    tallies.reduce((total, tally) => total + tally[count], 0)
  const inFlight = `${results.inFlight} in flight`
  if (sinceMs < warmUpMs) return `warming up: ${span(sinceMs)} of ${span(warmUpMs)}  ${inFlight}`
  const atMs = sinceMs - warmUpMs
  const whole = forMs < MOST.forMs ? span(forMs) : `${mostConversations} requests`
  const far = atMs < forMs ? `${span(atMs)} of ${whole}` : 'waiting for the last answers'
  const busiest = tallies.toSorted((a, b) => b.first.count - a.first.count)[0]!
  const first = busiest.first.count > 0 ? [`first token ${timeText(busiest.first.quantile(0.5))}`] : []
  const notSent = sum('notSent') > 0 ? [`${sum('notSent')} not sent`] : []
  const counts = [`${sum('sent')} sent`, inFlight, `${sum('answered')} answered`, `${sum('failed')} failed`, ...notSent]
  return [far, ...counts, ...first].join('  ')
}
