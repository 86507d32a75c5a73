import { simulate } from './simulate.ts'
import { brokenRun, type Order, type Ran } from './soak-order.ts'

process.on('message', (order: Order) => void answer(order))
// Ctrl-C reaches everybody at the terminal; who gave the order decides what becomes of us.
process.on('SIGINT', () => {})
process.on('disconnect', () => process.exit())

async function answer({ scenario, lines: most }: Order): Promise<void> {
  const before = process.cpuUsage()
  const lines = new LastLines(most)
  const heard = most > 0 ? { ...scenario, onLine: (line: string) => lines.add(line) } : scenario
  const outcome = await simulate(heard).catch((error: unknown) =>
    brokenRun(scenario, error instanceof Error ? (error.stack ?? error.message) : String(error)),
  )
  const { user, system } = process.cpuUsage(before)
  const cpuMs = (user + system) / 1000
  const ran: Ran = { outcome, lines: lines.list(), cpuMs, memoryBytes: process.memoryUsage.rss() }
  process.send!(ran)
}

class LastLines {
  readonly #most: number
  #lines: string[] = []

  constructor(most: number) {
    this.#most = most
  }

  add(line: string): void {
    this.#lines.push(line)
    if (this.#lines.length >= 2 * this.#most) this.#lines = this.list()
  }

  list(): string[] {
    return this.#most === 0 ? [] : this.#lines.slice(-this.#most)
  }
}
