import { MOST_CLUSTER_ID } from '../../core/lib/cluster-id.ts'
import { AppError, errorTable, messageOf, type ErrorCode } from '../../platform/errors.ts'
import { requestJson, StrangeAnswerError, type JsonAnswer, type JsonRequest } from '../client.ts'
import { CLUSTER_HEADER, KeptCluster } from '../../platform/kept-cluster.ts'
import { UntrustedError, type Trust } from '../../platform/tls/trust.ts'

const CALL_TIMEOUT_MS = 10_000

/** The servers at these URLs answer, but none of them is a Flotilla frontend. */
export class StrangersError extends AppError {
  constructor(message: string) {
    super('unavailable', message)
  }
}

/**
 * The frontends of a cluster, any of which can answer. Each call goes to the frontend that answered last, then to the
 * others in turn. Rejects with `unavailable` when none of them answers, or with the error code of the one that did.
 */
export class AnyFrontend {
  readonly #urls: readonly string[]
  readonly #trust: Trust
  readonly #send: typeof requestJson
  readonly #cluster: KeptCluster
  #first = 0

  /** `cluster`: the caller's cluster, learnt from the first answer. Answers from other clusters are ignored. */
  constructor(
    urls: readonly string[],
    trust: Trust = {},
    send: typeof requestJson = requestJson,
    cluster = new KeptCluster(),
  ) {
    this.#urls = urls
    this.#trust = trust
    this.#send = send
    this.#cluster = cluster
  }

  /** The frontend to ask first, then, at further attempts, the others. */
  urlOf(attempt: number): string {
    return this.#urls[(this.#first + attempt) % this.#urls.length]!
  }

  async post(path: string, request: Partial<JsonRequest>): Promise<unknown> {
    const silences: string[] = []
    let strangers = 0
    let untrusted: UntrustedError | undefined
    let other: AppError | undefined
    const ours = this.#cluster.id
    const known = ours === undefined ? {} : { [CLUSTER_HEADER]: ours }
    for (let i = 0; i < this.#urls.length; i += 1) {
      const at = (this.#first + i) % this.#urls.length
      const url = new URL(`${this.#urls[at]}${path}`)
      try {
        const answer = await this.#send(url, {
          method: 'POST',
          timeoutMs: CALL_TIMEOUT_MS,
          trust: this.#trust,
          ...request,
          headers: { ...known, ...request.headers },
        })
        const result = judge(answer, this.#cluster)
        this.#first = at
        return result
      } catch (error) {
        if (error instanceof UntrustedError) untrusted = error
        else if (error instanceof AppError && error.code === 'other_cluster') other = error
        else if (isLastWord(error)) throw error
        silences.push(`${url.origin}: ${messageOf(error)}`)
        // A 5xx may come from a proxy whose frontend is down.
        if (error instanceof StrangeAnswerError && error.status < 500) strangers += 1
      }
    }
    // These need a person, while frontends that are down may come back by themselves.
    if (untrusted) throw untrusted
    if (other) throw other
    const text = `No frontend answers (${silences.join('; ')}).`
    throw strangers === silences.length ? new StrangersError(text) : new AppError('unavailable', text)
  }
}

/** Throws for every answer from another cluster, successes included. */
function judge({ status, body }: JsonAnswer, cluster: KeptCluster): unknown {
  const said = (body ?? {}) as { error?: ErrorBody; cluster_id?: unknown }
  const from = clusterIn(status === 200 ? said.cluster_id : said.error?.['cluster_id'])
  if (cluster.isOther(from)) throw otherCluster(cluster.id!, from!)
  if (status === 200) {
    cluster.learn(from)
    return body
  }
  const { code, message, type: _, ...details } = said.error ?? {}
  if (code === undefined || !(code in errorTable)) {
    // A proxy or another program answered; it does not speak for the cluster.
    throw new StrangeAnswerError(`answered ${status}, but not as a Flotilla frontend does`, status)
  }
  throw new AppError(code as ErrorCode, message ?? `answered ${status}`, { details })
}

function clusterIn(id: unknown): string | undefined {
  return typeof id === 'string' && id !== '' && id.length <= MOST_CLUSTER_ID ? id : undefined
}

function otherCluster(ours: string, theirs: string): AppError {
  const text = `The frontend belongs to another cluster (${theirs}) than this machine (${ours}); its answers are ignored.`
  const how = `If its store was lost, restore the backup. To move this machine to that cluster, restart it with --new-cluster.`
  return new AppError('other_cluster', `${text} ${how}`)
}

interface ErrorBody extends Record<string, unknown> {
  code?: string
  message?: string
}

/** True when every frontend would give the same answer. Other errors may not occur at another frontend, or later. */
export function isLastWord(error: unknown): error is AppError {
  return error instanceof AppError && error.status < 500 && error.code !== 'busy' && error.code !== 'timeout'
}
