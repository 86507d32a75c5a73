import { Session, type SessionOptions } from './postgres-session.ts'

/** At most `max` sessions, opened when needed. A caller that finds none free queues. A session has one user at a time. */
export class SessionPool {
  readonly #options: SessionOptions
  readonly #max: number
  readonly #idle: Session[] = []
  readonly #waiting: ((session: Session) => void)[] = []
  #count = 0

  constructor(options: SessionOptions, max: number) {
    this.#options = options
    this.#max = max
  }

  async use<T>(work: (session: Session) => Promise<T>): Promise<T> {
    const session = await this.#take()
    try {
      return await work(session)
    } finally {
      this.#give(session)
    }
  }

  async end(): Promise<void> {
    await Promise.all(this.#idle.splice(0).map((session) => session.destroy()))
  }

  async #take(): Promise<Session> {
    // The latest used first, so that spare sessions stay idle in quiet times.
    for (let session = this.#idle.pop(); session; session = this.#idle.pop()) {
      if (!session.lost) return session
      this.#discard(session)
    }
    if (this.#count < this.#max) return this.#open()
    return new Promise((resolve) => {
      this.#waiting.push(resolve)
    })
  }

  #give(session: Session): void {
    const next = this.#waiting.shift()
    if (!session.lost) {
      if (next) next(session)
      else this.#idle.push(session)
      return
    }
    this.#discard(session)
    if (next) next(this.#open())
  }

  #open(): Session {
    this.#count += 1
    return new Session(this.#options)
  }

  #discard(session: Session): void {
    this.#count -= 1
    void session.destroy()
  }
}
