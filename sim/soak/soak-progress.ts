import type { Outcome } from '../simulate.ts'
import type { Tally } from './soak-tally.ts'

/** A terminal is told so often at most, anybody else once a minute. */
const LIVE_EVERY_MS = 200
const PLAIN_EVERY_MS = 60_000

export interface ProgressDeps {
  write: (text: string) => void
  isTerminal: boolean
  nowMs: () => number
  /** How many seeds there are to run, or for how long; neither is for ever. */
  seeds?: number | undefined
  soakMs?: number | undefined
}

/** One line that says how far it is: written over on a terminal, a new one now and then elsewhere. */
export class Progress {
  readonly #deps: ProgressDeps
  readonly #startMs: number
  #saidMs: number

  constructor(deps: ProgressDeps) {
    this.#deps = deps
    this.#startMs = deps.nowMs()
    this.#saidMs = deps.isTerminal ? -Infinity : this.#startMs
  }

  onRan(tally: Tally, { seed, violation }: Pick<Outcome, 'seed' | 'violation'>): void {
    // Who waits for hours wants to look at it at once.
    if (violation && !this.#deps.isTerminal) {
      this.#deps.write(`seed ${seed} failed: ${violation.check}: ${violation.message}\n`)
    }
    this.say(() => this.#textOf(tally))
  }

  say(text: () => string): void {
    const { write, isTerminal, nowMs } = this.#deps
    if (nowMs() - this.#saidMs < (isTerminal ? LIVE_EVERY_MS : PLAIN_EVERY_MS)) return
    this.#saidMs = nowMs()
    write(isTerminal ? `\r${text().slice(0, 79)}\u001B[K` : `${text()}\n`)
  }

  /** The line makes room for the report. */
  end(): void {
    if (this.#deps.isTerminal) this.#deps.write('\r\u001B[K')
  }

  #textOf({ seeds: done, failed, virtualMs }: Tally): string {
    const { seeds, nowMs } = this.#deps
    const spentMs = Math.max(1, nowMs() - this.#startMs)
    const share = this.#share(done, spentMs)
    const left = share > 0 ? `, ${spanText((spentMs / share) * (1 - share))} left` : ''
    const of = seeds === undefined ? 'seeds' : `of ${seeds.toLocaleString('en-US')} seeds`
    const fast = Math.round(virtualMs / spentMs).toLocaleString('en-US')
    return `${done.toLocaleString('en-US')} ${of}, ${failed} failed, ${fast} times real time${left}`
  }

  #share(done: number, spentMs: number): number {
    const { seeds, soakMs = Infinity } = this.#deps
    return Math.min(1, seeds === undefined ? spentMs / soakMs : done / seeds)
  }
}

/** `41 s`, `3 min 2 s`, `5 h 7 min`. */
export function spanText(ms: number): string {
  const s = Math.round(ms / 1000)
  if (s < 60) return `${s} s`
  return s < 3600
    ? `${Math.floor(s / 60)} min ${s % 60} s`
    : `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`
}
