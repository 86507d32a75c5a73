import type { Permissions } from '../../api/bus/permissions.ts'
import { contains, isLiteral, isValidPattern, matches, toWire } from './subjects.ts'

/** Answers remembered per user; control subjects repeat, reply subjects do not. */
const CACHE_ENTRIES = 256

/** A user's permissions, ready to be asked for every message. */
export class CompiledPermissions {
  readonly respond: boolean
  readonly #inbox: string | undefined
  readonly #publishLiterals: ReadonlySet<string>
  readonly #publishPatterns: readonly string[]
  readonly #subscribe: readonly string[]
  readonly #publishCache = new Map<string, boolean>()

  /** Throws on an invalid pattern: it would permit nothing, which is a mistake of the configuration. */
  constructor({ publish, subscribe, respond, inbox }: Permissions) {
    for (const pattern of [...publish, ...subscribe]) {
      if (!isValidPattern(pattern) || /\s/.test(pattern)) throw new Error(`not a subject pattern: "${pattern}"`)
    }
    const wire = publish.map(toWire)
    this.#publishLiterals = new Set(wire.filter(isLiteral))
    this.#publishPatterns = wire.filter((pattern) => !isLiteral(pattern))
    this.#subscribe = subscribe.map(toWire)
    this.respond = respond
    this.#inbox = inbox === undefined ? undefined : toWire(`${inbox}.`)
  }

  mayPublish(subject: string): boolean {
    if (this.#publishLiterals.has(subject)) return true
    let allowed = this.#publishCache.get(subject)
    if (allowed === undefined) {
      allowed = this.#publishPatterns.some((pattern) => matches(pattern, subject))
      if (this.#publishCache.size >= CACHE_ENTRIES) this.#publishCache.clear()
      this.#publishCache.set(subject, allowed)
    }
    return allowed
  }

  /** Whether an answer may go there: otherwise a client could make a responder publish where the client itself may not. */
  mayNameForReply(subject: string): boolean {
    return this.#inbox === undefined || subject.startsWith(this.#inbox)
  }

  /**
   * A subscription must lie wholly inside one allowed pattern. nats-server 2.9 is laxer in one case: it lets `b.>`
   * through where `b.*` is allowed, and then delivers `b.x.y`. We do not copy that.
   */
  maySubscribe(pattern: string): boolean {
    return this.#subscribe.some((allowed) => contains(allowed, pattern))
  }
}

/**
 * The reply subjects a client was sent and may publish to: once each, until they expire. The order of the map is the
 * order of age, so that expiry and the limit both take from its front.
 */
export class ReplyLedger {
  readonly #expiryAt = new Map<string, number>()
  readonly #limit: number
  readonly #expiryMs: number

  constructor(limit: number, expiryMs: number) {
    this.#limit = limit
    this.#expiryMs = expiryMs
  }

  remember(reply: string, nowMs: number): void {
    this.#expiryAt.delete(reply)
    this.#expiryAt.set(reply, nowMs + this.#expiryMs)
    for (const [oldest, atMs] of this.#expiryAt) {
      if (atMs > nowMs && this.#expiryAt.size <= this.#limit) break
      this.#expiryAt.delete(oldest)
    }
  }

  /** Whether one message may go to `reply`; it is used up by asking. */
  spend(reply: string, nowMs: number): boolean {
    const atMs = this.#expiryAt.get(reply)
    if (atMs === undefined) return false
    this.#expiryAt.delete(reply)
    return atMs > nowMs
  }
}
