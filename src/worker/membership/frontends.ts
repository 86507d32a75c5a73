import { registered, type NodeRegistration, type Registered, type SignedRegistration } from '../../api/admin/schemas.ts'
import { askInCommon } from '../../platform/peer-versions.ts'
import { RUN_HEADER } from '../../api/node-run.ts'
import { signedText } from '../../api/node-signature.ts'
import { publicKeyOf, sign } from '../../bus/nkey.ts'
import { canonicalJson } from '../../core/lib/canonical-json.ts'
import { AnyFrontend } from '../../http/client/any-frontend.ts'
import { AppError } from '../../platform/errors.ts'
import type { requestJson } from '../../http/client.ts'
import type { KeptCluster } from '../../platform/kept-cluster.ts'
import type { Trust } from '../../platform/tls/trust.ts'
import type { FrontendFiles } from '../files/frontend-files.ts'
import type { OldIdentity } from './identity.ts'

export interface FrontendsDeps {
  urls: readonly string[]
  joinToken: string
  seed: string
  /** Identifies this run of the worker in each call. */
  runId: string
  /** The previous key, until the cluster has recorded the new one. */
  old?: OldIdentity | undefined
  nowMs: () => number
  /** Which servers at these URLs are accepted as our frontends. */
  trust?: Trust | undefined
  /** The cluster of this node, if known; answers of other clusters are ignored. */
  cluster?: KeptCluster | undefined
  send?: typeof requestJson
}

/** The first protocol version in which a node reports its certificate. */
const TLS_SINCE = 3
const GOODBYE_TIMEOUT_MS = 2000

/** What a node says of itself; the protocol and the time are added. */
export type Facts = Omit<NodeRegistration, 'protocol' | 'signed_at'>

/** The frontends of the cluster, from a node's point of view. */
export class Frontends {
  readonly #deps: FrontendsDeps
  readonly #any: AnyFrontend

  constructor(deps: FrontendsDeps) {
    this.#deps = deps
    this.#any = new AnyFrontend(deps.urls, deps.trust, deps.send, deps.cluster)
  }

  /** Registers this node. The signature proves that we hold the named key. */
  register(facts: Facts): Promise<Registered> {
    return askInCommon((protocol) => this.#register({ ...facts, protocol }))
  }

  async #register(all: Omit<NodeRegistration, 'signed_at'>): Promise<Registered> {
    const { tls_fingerprint: fingerprint, ...older } = all
    // A frontend of the release before does not know this field, and refuses unknown fields.
    const facts = all.protocol >= TLS_SINCE && fingerprint !== undefined ? all : older
    const { seed, old, joinToken, nowMs } = this.#deps
    const registration: NodeRegistration = { ...facts, signed_at: nowMs() }
    const text = canonicalJson(registration)
    const replaces = old && { public_key: publicKeyOf(old.seed), signature: sign(old.seed, text) }
    const body: SignedRegistration = { registration, signature: sign(seed, text), ...(replaces ? { replaces } : {}) }
    const answer = registered.parse(
      await this.#any.post('/api/node/register', { body, token: joinToken, headers: this.#run() }),
    )
    old?.forget()
    this.#deps.old = undefined
    return answer
  }

  /** Whether the node is approved, and its credentials. */
  async credentials(nodeId: string): Promise<Registered> {
    return registered.parse(await this.#callAsNode(`/api/node/${nodeId}/credentials`))
  }

  async deregister(nodeId: string, bootId: string): Promise<void> {
    const options = { timeoutMs: GOODBYE_TIMEOUT_MS, body: { boot_id: bootId } }
    await this.#callAsNode(`/api/node/${nodeId}/deregister`, options)
  }

  /** The URL of a file below a frontend's models folder, and the headers that prove who asks. */
  filesFor(nodeId: () => string | undefined): FrontendFiles {
    return {
      locate: async (path, { attempt }) => {
        const id = nodeId()
        if (id === undefined) throw new AppError('unavailable', 'This node has not registered yet.')
        const at = `/api/node/${id}/files/${encodeURIComponent(path)}`
        const url = new URL(`${this.#any.urlOf(attempt)}${at}`)
        return { url, headers: this.#signed('GET', at), trust: this.#deps.trust }
      },
    }
  }

  #run(): { [RUN_HEADER]: string } {
    return { [RUN_HEADER]: this.#deps.runId }
  }

  #signed(method: 'GET' | 'POST', path: string): { authorization: string } {
    const signedAtMs = this.#deps.nowMs()
    return { authorization: `Node ${signedAtMs}.${sign(this.#deps.seed, signedText(method, path, signedAtMs))}` }
  }

  #callAsNode(path: string, options: { timeoutMs?: number; body?: object } = {}): Promise<unknown> {
    return this.#any.post(path, { headers: { ...this.#run(), ...this.#signed('POST', path) }, ...options })
  }
}
