/**
 * Since when the way between a node and a leader has been undisturbed. Some promises hold within a time "while the bus
 * is healthy": their time starts here. Every fault says until when it disturbs.
 */
export class Health {
  #controlMs = 0
  readonly #nodeMs = new Map<string, number>()

  /** Nobody may lead until then. */
  disturbControl(untilMs: number): void {
    this.#controlMs = Math.max(this.#controlMs, untilMs)
  }

  /** Messages of this node may be lost or late until then. */
  disturbNode(nodeId: string, untilMs: number): void {
    this.#nodeMs.set(nodeId, Math.max(this.nodeSinceMs(nodeId), untilMs))
  }

  controlSinceMs(): number {
    return this.#controlMs
  }

  nodeSinceMs(nodeId: string): number {
    return this.#nodeMs.get(nodeId) ?? 0
  }

  sinceMs(nodeId: string): number {
    return Math.max(this.#controlMs, this.nodeSinceMs(nodeId))
  }
}
