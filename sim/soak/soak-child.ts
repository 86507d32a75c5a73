import { simulate } from '../simulate.ts'
import { isFault, msOfClockText } from '../report/trace.ts'
import { brokenRun, type Order, type Ran } from './soak-order.ts'

process.on('message', (order: Order) => void answer(order))
// Ctrl-C reaches everybody at the terminal; who gave the order decides what becomes of us.
process.on('SIGINT', () => {})
process.on('disconnect', () => process.exit())

async function answer({ scenario, lines: most }: Order): Promise<void> {
  const before = process.cpuUsage()
  const lines = new LastLines(most)
  const outcome = await simulate({ ...scenario, onLine: (line) => lines.add(line) }).catch((error: unknown) =>
    brokenRun(scenario, error instanceof Error ? (error.stack ?? error.message) : String(error), lines.seen()),
  )
  const { user, system } = process.cpuUsage(before)
  const cpuMs = (user + system) / 1000
  const ran: Ran = { outcome, lines: lines.list(), cpuMs, memoryBytes: process.memoryUsage.rss() }
  process.send!(ran)
}

class LastLines {
  readonly #most: number
  #lines: string[] = []
  #last = ''
  #faults = 0

  constructor(most: number) {
    this.#most = most
  }

  add(line: string): void {
    this.#last = line
    if (isFault(line)) this.#faults += 1
    if (this.#most === 0) return
    this.#lines.push(line)
    if (this.#lines.length >= 2 * this.#most) this.#lines = this.list()
  }

  list(): string[] {
    return this.#lines.slice(-this.#most)
  }

  /** How far the run had come with the last line. */
  seen(): { atMs: number; faults: number } {
    return { atMs: msOfClockText(this.#last), faults: this.#faults }
  }
}
