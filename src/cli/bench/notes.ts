import { countText, requestsWere, shareText, timeText } from './time-text.ts'
import type { BenchReport } from './report.ts'

export interface Note {
  text: string
  /** Something is wrong with the figures themselves. */
  isWarning: boolean
}

/** So late, or so busy, and the figures tell more of this program than of the cluster. */
const LATE_MS = 20
const LATE_SHARE = 0.1
const BUSY_SHARE = 0.85

/** What one must know to trust the figures. */
export function notesOn(report: BenchReport): Note[] {
  const { all, driver, interrupted, quantile_error: error } = report
  const notes: (Note | false)[] = [
    interrupted &&
      warning('Ended by Ctrl-C: this is what was known by then; requests that still ran are told as unfinished.'),
    lagNote(report),
    driver.cpu_share >= BUSY_SHARE &&
      warning(
        `This program used ${shareText(driver.cpu_share)} of a core and may have been the limit itself: lower the rate, or run it on several machines.`,
      ),
    all.requests.not_sent > 0 &&
      warning(
        `${requestsWere(all.requests.not_sent)} not sent, since ${countText(report.plan.mostInFlight)} were in flight: the cluster is slower than the rate. Times are those of the others.`,
      ),
    all.requests.sent_again > 0 && {
      text: `${requestsWere(all.requests.sent_again)} sent again on a new connection, since the server had ended the kept one.`,
      isWarning: false,
    },
    all.tokens_from !== 'usage' &&
      all.requests.answered > 0 &&
      warning(
        all.tokens_from === 'estimated'
          ? 'Answers did not say how many tokens they took: one is counted for each part of a stream, and one for four characters of others.'
          : 'Some answers did not say how many tokens they took; theirs are estimated.',
      ),
    { text: `Quantiles are within ${shareText(error)} of the true ones.`, isWarning: false },
  ]
  return notes.filter((note) => note !== false)
}

function lagNote({ driver: { lag_ms: lag }, all }: BenchReport): Note {
  const typical = all.first_token_ms.count > 0 ? all.first_token_ms.p50 : all.whole_ms.p50
  const told = `99 % of the requests were sent within ${timeText(lag.p99)} of when they were due`
  if (lag.count === 0 || lag.p99 <= Math.max(LATE_MS, typical * LATE_SHARE))
    return { text: `${told}.`, isWarning: false }
  return warning(
    `This program was late: ${told}, and that is part of all times. Give it a core of its own, or a lower rate.`,
  )
}

function warning(text: string): Note {
  return { text, isWarning: true }
}
