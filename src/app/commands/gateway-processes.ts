import cluster, { type Worker } from 'node:cluster'
import { createServer, type AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import type { Config } from '../../cli/config/options.ts'
import {
  announceGateway,
  END,
  gatewayBanner,
  slotEnvironment,
  type FromChild,
  type Serving,
} from './gateway-process.ts'
import type { Address } from '../../platform/address.ts'
import { systemClock as clock, type Clock } from '../../platform/run/clock.ts'
import { openDataFolder } from '../../platform/data-folder.ts'
import { listenError } from '../../http/server/listen.ts'
import type { Logger } from '../../platform/run/log.ts'
import { runRoles, type Ending } from '../run-roles.ts'
import { FigureExchange, isFigureMessage, type FigureMessage } from '../compose/metrics-of-processes.ts'

/** How long a child may take to end after its requests have had their time; then it is killed. */
const END_GRACE_MS = 10_000
const RETRY_FIRST_MS = 200
const RETRY_MOST_MS = 10_000
/** A child that served for this long did not fail at its start. */
const SETTLED_MS = 30_000
/** A usage mistake; every child would make the same. */
const MISTAKE = 2

/**
 * Several gateway processes on one port. Each listens itself and the kernel spreads the connections (SO_REUSEPORT), so
 * that this process is not on the path of requests. Where that is not available, node:cluster accepts connections here
 * and hands them out. That is the second choice: a connection handed to a process that was just killed hangs for ever,
 * where the kernel would end it at once.
 */
export function runGatewayProcesses(config: Config): Promise<number> {
  return runRoles(config, async (log, life) => {
    const folder = openDataFolder(config.data)
    life.own('data folder', () => folder.dispose())
    const main = fileURLToPath(new URL(`../../main${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url))
    cluster.setupPrimary({ exec: main, args: process.argv.slice(2), execArgv: [...process.execArgv, ...FLAGS] })
    const { promise: over, resolve: end } = Promise.withResolvers<Ending>()
    const port = await freePortFor(config.listen)
    const fork = (number: number): Worker => cluster.fork(slotEnvironment({ number, port }))
    const children = new Children({ fork, clock, log, onMistake: () => end({ code: MISTAKE }) })
    life.own('processes', () => children.end(config.drain_s * 1000 + END_GRACE_MS))
    // Starts the first one alone, so that a mistake is reported once, not by each of them.
    const serving = await Promise.race([children.start(1), over])
    if (!('url' in serving)) return { over }
    const others = Array.from({ length: config.processes - 1 }, (_, i) => children.start(i + 2))
    await Promise.race([Promise.all(others), over])
    announceGateway(config, serving, life)
    return { over, banner: gatewayBanner(serving, folder.path, config.processes) }
  })
}

/**
 * Options for speed. Most garbage of a request is dead by the time that its answer has ended, if there is room to wait
 * for that: measured, 16 MB instead of 1 saves an eighth of this process's time. There is usually one process for each
 * core, so helper threads for the collection would only take time from another process.
 */
const FLAGS = ['--max-semi-space-size=16', '--no-parallel-scavenge']

/** Briefly binds the port exclusively: with SO_REUSEPORT alone, another program on it would go unnoticed. */
async function freePortFor(listen: Address): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(listenError(error, listen, 'the API', '--listen')))
    server.listen({ ...listen, exclusive: true }, resolve)
  })
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

export interface ChildrenDeps {
  fork: (slot: number) => Worker
  clock: Clock
  log: Logger
  /** A child rejected its settings before any child ever served. */
  onMistake: () => void
}

/** The processes by their slots. One that dies is restarted, with growing delays if it keeps dying at once. */
export class Children {
  readonly #deps: ChildrenDeps
  readonly #figures: FigureExchange
  readonly #running = new Map<number, Worker>()
  readonly #cancels = new Map<number, () => void>()
  #hasServed = false
  #isEnding = false

  constructor(deps: ChildrenDeps) {
    this.#deps = deps
    this.#figures = new FigureExchange(deps.clock, () => [...this.#running.values()].map(receiver))
  }

  /** Resolves with its URL when it serves for the first time. */
  start(slot: number): Promise<Serving> {
    return new Promise((resolve) => this.#run(slot, 0, resolve))
  }

  #run(slot: number, failures: number, onServing: (serving: Serving) => void): void {
    const { fork, clock, log } = this.#deps
    const startedMs = clock.nowMs()
    const child = fork(slot)
    this.#running.set(slot, child)
    child.on('message', (message: FromChild) => {
      if (isFigureMessage(message)) return this.#figures.hear(receiver(child), message)
      this.#hasServed = true
      onServing(message.serving)
    })
    // A message to a child that is about to end fails; its exit is what counts.
    child.on('error', () => {})
    child.once('exit', (code, signal) => {
      this.#running.delete(slot)
      if (this.#isEnding) return
      if (code === MISTAKE && !this.#hasServed) return this.#deps.onMistake()
      const tries = clock.nowMs() - startedMs > SETTLED_MS ? 0 : failures
      const delayMs = Math.min(RETRY_MOST_MS, RETRY_FIRST_MS * 2 ** Math.min(tries, 10))
      log.warn({ process: slot, code, signal, restart_in_ms: delayMs }, 'gateway: a process ended; starting it again')
      this.#cancels.set(
        slot,
        clock.after(delayMs, () => this.#run(slot, tries + 1, onServing)),
      )
    })
  }

  /** Lets the children finish their requests; kills those that take longer than `graceMs`. */
  async end(graceMs: number): Promise<void> {
    this.#isEnding = true
    for (const cancel of this.#cancels.values()) cancel()
    const children = [...this.#running.values()]
    const ended = children.map((child) => new Promise((resolve) => child.once('exit', resolve)))
    for (const child of children) if (child.isConnected()) child.send(END, () => {})
    const cancel = this.#deps.clock.after(graceMs, () => {
      for (const child of children) child.process.kill('SIGKILL')
    })
    await Promise.all(ended)
    cancel()
  }
}

/** Sending to a child that has just ended is not an error. */
function receiver(child: Worker): { send(message: FigureMessage): void } {
  return { send: (message) => void (child.isConnected() && child.send(message, () => {})) }
}
