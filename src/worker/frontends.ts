import { registered, type NodeRegistration, type Registered } from '../api/admin/schemas.ts'
import { signedText } from '../api/node-signature.ts'
import { sign } from '../bus/nkey.ts'
import { canonicalJson } from '../core/lib/canonical-json.ts'
import { AppError, errorTable, messageOf, type ErrorCode } from '../platform/errors.ts'
import type { FrontendFiles } from './files/frontend-files.ts'
import { requestJson, type JsonAnswer, type JsonRequest } from '../platform/http-client.ts'

export interface FrontendsDeps {
  urls: readonly string[]
  joinToken: string
  seed: string
  nowMs: () => number
  send?: (url: URL, request: JsonRequest) => Promise<JsonAnswer>
}

const CALL_TIMEOUT_MS = 10_000
const GOODBYE_TIMEOUT_MS = 2000

/**
 * The frontends of the cluster as a node sees them. Each call goes to the one that answered last, then to the others in
 * turn. Rejects with `unavailable` when none of them answers, or with the code that one of them gave.
 */
export class Frontends {
  readonly #deps: Required<FrontendsDeps>
  #first = 0

  constructor(deps: FrontendsDeps) {
    this.#deps = { send: requestJson, ...deps }
  }

  /** Presents this node. The signature proves that we hold the key we name. */
  async register(facts: Omit<NodeRegistration, 'signed_at'>): Promise<Registered> {
    const { seed, joinToken, nowMs } = this.#deps
    const registration: NodeRegistration = { ...facts, signed_at: nowMs() }
    const body = { registration, signature: sign(seed, canonicalJson(registration)) }
    return registered.parse(await this.#call('/api/node/register', { body, token: joinToken }))
  }

  /** Whether we are approved, and what we work with. */
  async credentials(nodeId: string): Promise<Registered> {
    return registered.parse(await this.#callAsNode(`/api/node/${nodeId}/credentials`, CALL_TIMEOUT_MS))
  }

  async deregister(nodeId: string): Promise<void> {
    await this.#callAsNode(`/api/node/${nodeId}/deregister`, GOODBYE_TIMEOUT_MS)
  }

  /** Where a file below the models folder of a frontend is to be had, and what proves that it is us who ask. */
  filesFor(nodeId: () => string | undefined): FrontendFiles {
    return {
      locate: async (path, { attempt }) => {
        const { urls } = this.#deps
        const id = nodeId()
        if (id === undefined) throw new AppError('unavailable', 'This node has not registered yet.')
        const at = `/api/node/${id}/files/${encodeURIComponent(path)}`
        return { url: new URL(`${urls[(this.#first + attempt) % urls.length]}${at}`), headers: this.#signed('GET', at) }
      },
    }
  }

  #signed(method: 'GET' | 'POST', path: string): { authorization: string } {
    const signedAtMs = this.#deps.nowMs()
    return { authorization: `Node ${signedAtMs}.${sign(this.#deps.seed, signedText(method, path, signedAtMs))}` }
  }

  #callAsNode(path: string, timeoutMs: number): Promise<unknown> {
    return this.#call(path, { headers: this.#signed('POST', path), timeoutMs })
  }

  async #call(path: string, request: Partial<JsonRequest>): Promise<unknown> {
    const { urls, send } = this.#deps
    const silences: string[] = []
    for (let i = 0; i < urls.length; i += 1) {
      const at = (this.#first + i) % urls.length
      const url = new URL(`${urls[at]}${path}`)
      try {
        const answer = await send(url, { method: 'POST', timeoutMs: CALL_TIMEOUT_MS, ...request })
        const result = judge(answer)
        this.#first = at
        return result
      } catch (error) {
        if (isLastWord(error)) throw error
        silences.push(`${url.origin}: ${messageOf(error)}`)
      }
    }
    throw new AppError('unavailable', `No frontend answers (${silences.join('; ')}).`)
  }
}

function judge({ status, body }: JsonAnswer): unknown {
  if (status === 200) return body
  const { code, message } = ((body ?? {}) as { error?: { code?: string; message?: string } }).error ?? {}
  if (code === undefined || !(code in errorTable)) {
    // Somebody's proxy, or another program: nothing that speaks for the cluster.
    throw new Error(`answered ${status}, but not as a Flotilla frontend does`)
  }
  throw new AppError(code as ErrorCode, message ?? `answered ${status}`)
}

/** An answer that the other frontends would give, too; anything else may be better elsewhere, or later. */
export function isLastWord(error: unknown): error is AppError {
  return error instanceof AppError && error.status < 500 && error.code !== 'busy' && error.code !== 'timeout'
}
