/** What one node may send: far above what a worker with hundreds of replicas sends while all of them change. */
export interface BudgetLimits {
  /** One message. */
  mostBytes: number
  messagesPerS: number
  messagesAtOnce: number
  bytesPerS: number
  bytesAtOnce: number
  /** A message that does not fit its schema costs as much of the budget as this many. */
  spoiltCosts: number
}

export const nodeLimits: BudgetLimits = {
  mostBytes: 512 * 1024,
  messagesPerS: 50,
  messagesAtOnce: 200,
  bytesPerS: 2 * 2 ** 20,
  bytesAtOnce: 8 * 2 ** 20,
  spoiltCosts: 50,
}

/** Nodes that are remembered; the one that sent longest ago is forgotten first, and starts with a whole budget. */
const MOST_NODES = 20_000

interface Account {
  messages: number
  bytes: number
  atMs: number
}

/**
 * Messages and bytes that each node may send, filled up as time passes. What is over is dropped before it is read, so that a
 * node that floods costs control next to nothing and delays no other.
 */
export class NodeBudget {
  readonly #limits: BudgetLimits
  readonly #accounts = new Map<string, Account>()

  constructor(limits = nodeLimits) {
    this.#limits = limits
  }

  /** Why a message is dropped unread; undefined when it is to be read. */
  refusal(nodeId: string, bytes: number, nowMs: number): string | undefined {
    const { mostBytes } = this.#limits
    if (bytes > mostBytes) return `it has ${bytes} bytes, and ${mostBytes} are read`
    const account = this.#account(nodeId, nowMs)
    if (account.messages < 1) return `more than ${this.#limits.messagesPerS} a second`
    if (account.bytes < bytes) return `more than ${this.#limits.bytesPerS} bytes a second`
    account.messages -= 1
    account.bytes -= bytes
    return undefined
  }

  /** The message was read and did not fit its schema: finding that out costs more than a good one. */
  spoilt(nodeId: string): void {
    const account = this.#accounts.get(nodeId)
    if (account) account.messages -= this.#limits.spoiltCosts - 1
  }

  #account(nodeId: string, nowMs: number): Account {
    const { messagesPerS, messagesAtOnce, bytesPerS, bytesAtOnce } = this.#limits
    const known = this.#accounts.get(nodeId) ?? { messages: messagesAtOnce, bytes: bytesAtOnce, atMs: nowMs }
    // A clock that was set back gives nothing and takes nothing.
    const passedS = Math.max(0, nowMs - known.atMs) / 1000
    known.messages = Math.min(messagesAtOnce, known.messages + passedS * messagesPerS)
    known.bytes = Math.min(bytesAtOnce, known.bytes + passedS * bytesPerS)
    known.atMs = nowMs
    this.#accounts.delete(nodeId)
    this.#accounts.set(nodeId, known)
    const [oldest] = this.#accounts.keys()
    if (this.#accounts.size > MOST_NODES) this.#accounts.delete(oldest!)
    return known
  }
}
