import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { onTestFinished, vi } from 'vitest'
import type { Exit } from '../engine-process.ts'

export type Order =
  | { do: 'watch'; folder: string; graceMs: number }
  | {
      do: 'start'
      folder: string
      name: string
      argv: string[]
      env?: NodeJS.ProcessEnv
      isHeld?: boolean
      thenDie?: boolean
      linesTo?: string
    }
  | { do: 'adopt'; folder: string; name: string; linesTo?: string }
  | { do: 'stop'; name: string; signal?: NodeJS.Signals; killAfterMs?: number }
  | { do: 'end'; inOrder?: boolean; leave?: boolean }

export type Word =
  | { say: 'watching'; pid: number }
  | { say: 'spawned'; name: string; pid: number }
  | { say: 'started' | 'adopted' | 'missed' | 'stopped'; name: string }
  | { say: 'line'; name: string; stream: string; line: string }
  | { say: 'exited'; name: string; exit: Exit }

/** A worker that is a process of its own, with nothing of a worker but engines and a watchdog; made to be killed. */
export class TestWorker {
  readonly words: Word[] = []
  readonly #child
  readonly #read: Promise<unknown>

  constructor() {
    const script = join(import.meta.dirname, 'worker-process.ts')
    // A group of its own, so that the whole group can be killed; NODE_OPTIONS would be vitest's.
    this.#child = spawn(process.execPath, [script], {
      stdio: ['pipe', 'pipe', 'inherit'],
      detached: true,
      env: { ...process.env, NODE_OPTIONS: '' },
    })
    this.#child.stdin.on('error', () => {})
    let rest = ''
    // What it was about to say when it was killed may lack its end.
    this.#child.stdout.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n')
      rest = lines.pop()!
      for (const line of lines) this.words.push(JSON.parse(line) as Word)
    })
    this.#read = once(this.#child.stdout, 'close')
    onTestFinished(() => void this.#child.kill('SIGKILL'))
  }

  tell(order: Order): void {
    this.#child.stdin.write(`${JSON.stringify(order)}\n`)
  }

  async heard<S extends Word['say']>(say: S): Promise<Extract<Word, { say: S }>> {
    const find = (): Word | undefined => this.words.find((word) => word.say === say)
    return (await vi.waitUntil(find, { timeout: 20_000, interval: 10 })) as Extract<Word, { say: S }>
  }

  lines(name: string): string[] {
    return this.words.flatMap((word) => (word.say === 'line' && word.name === name ? [word.line] : []))
  }

  /** Resolves when it is dead and all that it had said was heard. */
  async kill(target: 'process' | 'group' = 'process'): Promise<void> {
    process.kill(target === 'group' ? -this.#child.pid! : this.#child.pid!, 'SIGKILL')
    await this.ended()
  }

  async ended(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) await once(this.#child, 'exit')
    await this.#read
  }
}
