import { fork, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { brokenRun, type Order, type Ran } from './soak-order.ts'

/** One run may take so long, real time, also beside all that others do: one that never ends must be seen some day. */
const MOST_RUN_MS = 4 * 3_600_000
/** A child that has grown to this is replaced by a fresh one. */
const MOST_MEMORY_BYTES = 1.5 * 2 ** 30
/** Of what a child that died has written, the end. */
const MOST_WORDS = 4000

/**
 * Much garbage and few long-lived objects: room for the young ones makes a run a third faster than what `npm start` has.
 * There is a child for each core, so that what collects garbage beside it would only take from another.
 */
const nodeFlags = ['--disable-warning=ExperimentalWarning', '--max-semi-space-size=128', '--single-threaded-gc']

interface Child {
  process: ChildProcess
  words: string
}

/** Child processes, as many as there are runs side by side, with one run each at a time. They end with us, however we end. */
export class Pool {
  readonly #idle: Child[] = []
  readonly #all = new Set<Child>()
  readonly #program: string

  constructor(program: string = fileURLToPath(new URL('soak-child.ts', import.meta.url))) {
    this.#program = program
  }

  /** Undefined when it was called off. */
  async run(order: Order, signal?: AbortSignal): Promise<Ran | undefined> {
    if (signal?.aborted) return undefined
    const child = this.#idle.pop() ?? this.#start()
    const ended = await this.#ask(child, order, signal)
    if (ended.kind === 'ran' && ended.ran.memoryBytes < MOST_MEMORY_BYTES) this.#idle.push(child)
    else this.#end(child)
    if (ended.kind === 'ran') return ended.ran
    if (ended.kind === 'aborted') return undefined
    return { outcome: brokenRun(order.scenario, ended.why), lines: [], cpuMs: 0, memoryBytes: 0 }
  }

  [Symbol.dispose](): void {
    for (const child of this.#all) this.#end(child)
  }

  #end(child: Child): void {
    this.#all.delete(child)
    child.process.kill('SIGKILL')
  }

  #start(): Child {
    const stdio = ['ignore', 'pipe', 'pipe', 'ipc'] as const
    const child: Child = {
      process: fork(this.#program, { execArgv: nodeFlags, serialization: 'advanced', stdio: [...stdio] }),
      words: '',
    }
    for (const stream of [child.process.stdout, child.process.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => (child.words = (child.words + text).slice(-MOST_WORDS)))
    }
    this.#all.add(child)
    child.process.once('close', () => {
      this.#all.delete(child)
      const index = this.#idle.indexOf(child)
      if (index !== -1) this.#idle.splice(index, 1)
    })
    return child
  }

  #ask(child: Child, order: Order, signal: AbortSignal | undefined): Promise<Ended> {
    const { promise, resolve } = Promise.withResolvers<Ended>()
    const onRan = (ran: Ran): void => resolve({ kind: 'ran', ran })
    const onClose = (code: number | null, name: string | null): void =>
      resolve({ kind: 'died', why: `the process ended with ${name ?? `exit code ${code}`}. ${child.words}`.trim() })
    const onAbort = (): void => resolve({ kind: 'aborted' })
    const timer = setTimeout(
      () => resolve({ kind: 'died', why: `the run has not ended within ${MOST_RUN_MS / 60_000} minutes` }),
      MOST_RUN_MS,
    )
    child.process.once('message', onRan).once('close', onClose)
    signal?.addEventListener('abort', onAbort)
    child.process.send(order, (error) => error && resolve({ kind: 'died', why: error.message }))
    return promise.finally(() => {
      clearTimeout(timer)
      child.process.off('message', onRan).off('close', onClose)
      signal?.removeEventListener('abort', onAbort)
    })
  }
}

type Ended = { kind: 'ran'; ran: Ran } | { kind: 'died'; why: string } | { kind: 'aborted' }
