import assert from 'node:assert/strict'
import type { Clock } from '../../platform/run/clock.ts'
import { AppError } from '../../platform/errors.ts'
import type { Value } from '../sql.ts'
import type { Row, ScriptSql } from './driver.ts'
import { checkStatement } from './statement.ts'

export interface Send {
  query(text: string, params: readonly Value[]): Promise<Row[]>
  script(text: string): Promise<void>
}

/**
 * The statements of one transaction, the same in both dialects: one at a time, none after the first failure (PostgreSQL
 * would refuse them, SQLite would not), none after the end.
 */
export class Transaction implements ScriptSql {
  readonly #send: Send
  #tail: Promise<void> = Promise.resolve()
  #ended = false
  /** The first failure of a statement, whatever `work` made of it. */
  failure: Error | undefined
  /** The time was up: a statement may still be running. */
  late = false

  constructor(send: Send) {
    this.#send = send
  }

  /** Runs `work` and the statements it did not wait for. After this, nothing more is sent. */
  async run<T>(work: (tx: ScriptSql) => Promise<T>, clock: Clock, limitMs: number): Promise<T> {
    let cancel = (): void => {}
    const timeUp = new Promise<never>((_resolve, reject) => {
      cancel = clock.after(limitMs, () => {
        this.late = true
        reject(new AppError('timeout', `A transaction took longer than ${limitMs / 1000} s and was undone.`))
      })
    })
    try {
      const result = await Promise.race([work(this), timeUp])
      await Promise.race([this.#tail, timeUp])
      if (this.failure) throw this.failure
      return result
    } finally {
      this.#ended = true
      cancel()
      if (!this.late) await this.#tail
    }
  }

  query<T>(text: string, params: readonly Value[] = []): Promise<T[]> {
    return this.#next(async () => {
      checkStatement(text, params)
      return (await this.#send.query(text, params)) as T[]
    })
  }

  script(text: string): Promise<void> {
    return this.#next(() => this.#send.script(text))
  }

  #next<T>(step: () => Promise<T>): Promise<T> {
    const result = this.#tail.then(() => {
      assert(!this.#ended, 'a statement was sent after its transaction had ended')
      if (this.failure) throw this.failure
      return step()
    })
    this.#tail = result.then(
      () => {},
      (error: unknown) => {
        this.failure ??= error instanceof Error ? error : new Error(String(error))
      },
    )
    return result
  }
}
