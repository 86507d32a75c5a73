/**
 * Trouble on demand. A fault is set, lies in wait until its conditions are met, and then is active until another one
 * is set. `none` lifts it: requests held by a hang then go on where they stopped.
 */
export const faultKinds = ['none', 'crash', 'hang', 'slow', 'refuse'] as const

export interface Fault {
  kind: (typeof faultKinds)[number]
  /** This many inference requests still go well; the next one meets the fault. */
  afterRequests?: number
  /** This many tokens are still written, by all streams together. */
  afterTokens?: number
  /** slow: every wait is multiplied by this. */
  factor: number
  /** refuse: the HTTP status to answer. */
  status: number
  /** crash: the exit code. */
  exitCode: number
}

const noFault: Fault = { kind: 'none', factor: 10, status: 503, exitCode: 1 }

/** Reads the JSON form of a fault; a string says what is wrong with it. */
export function parseFault(value: unknown): Fault | string {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return 'a fault is a JSON object with a "kind"'
  const fault = { ...noFault }
  for (const [name, given] of Object.entries(value)) {
    if (name === 'kind') {
      const kind = faultKinds.find((known) => known === given)
      if (!kind) return `"kind" is one of ${faultKinds.join(', ')}`
      fault.kind = kind
      continue
    }
    const field = FIELDS[name]
    if (!field) return `unknown field "${name}" (known: kind, ${Object.keys(FIELDS).join(', ')})`
    const { key, least, most, whole } = field
    const fits = typeof given === 'number' && given >= least && given <= most && (!whole || Number.isInteger(given))
    if (!fits) return `"${name}" is a ${whole ? 'whole ' : ''}number from ${least} to ${most}`
    fault[key] = given
  }
  return 'kind' in value ? fault : '"kind" is missing'
}

type NumberKey = 'afterRequests' | 'afterTokens' | 'factor' | 'status' | 'exitCode'
const FIELDS: Record<string, { key: NumberKey; least: number; most: number; whole: boolean }> = {
  after_requests: { key: 'afterRequests', least: 0, most: 1e9, whole: true },
  after_tokens: { key: 'afterTokens', least: 0, most: 1e9, whole: true },
  factor: { key: 'factor', least: 0, most: 1e6, whole: false },
  status: { key: 'status', least: 400, most: 599, whole: true },
  exit_code: { key: 'exitCode', least: 0, most: 255, whole: true },
}

export class Faults {
  #fault: Fault = noFault
  #requests = 0
  #tokens = 0
  readonly #held = new Set<() => void>()
  readonly #crash: (exitCode: number) => void

  /** `crash` ends the process; it is called as soon as the conditions of a crash are met. */
  constructor(crash: (exitCode: number) => void) {
    this.#crash = crash
  }

  /** What was set, whether its conditions are met or not. */
  get planned(): Fault {
    return this.#fault
  }

  /** The kind that is in force now. */
  get active(): Fault['kind'] {
    const { kind, afterRequests, afterTokens } = this.#fault
    const met = this.#requests > (afterRequests ?? -1) && this.#tokens >= (afterTokens ?? 0)
    return met ? kind : 'none'
  }

  get factor(): number {
    return this.active === 'slow' ? this.#fault.factor : 1
  }

  /** Counting starts anew with every fault. */
  set(fault: Fault): void {
    this.#fault = fault
    this.#requests = 0
    this.#tokens = 0
    for (const release of this.#held) release()
    this.#crashIfDue()
  }

  countRequest(): void {
    this.#requests += 1
    this.#crashIfDue()
  }

  countTokens(tokens: number): void {
    this.#tokens += tokens
    this.#crashIfDue()
  }

  /** How many tokens may be written before a fault must be looked at again; a crash after 5 tokens means exactly 5. */
  get tokensUntilFault(): number {
    const left = (this.#fault.afterTokens ?? 0) - this.#tokens
    return left > 0 ? left : Infinity
  }

  /** Resolves when nothing hangs or crashes any more, or the client is gone. */
  async passed(signal: AbortSignal): Promise<void> {
    while ((this.active === 'hang' || this.active === 'crash') && !signal.aborted) {
      await new Promise<void>((resolve) => {
        const release = (): void => {
          this.#held.delete(release)
          signal.removeEventListener('abort', release)
          resolve()
        }
        this.#held.add(release)
        signal.addEventListener('abort', release, { once: true })
      })
    }
  }

  #crashIfDue(): void {
    if (this.active === 'crash') this.#crash(this.#fault.exitCode)
  }
}
