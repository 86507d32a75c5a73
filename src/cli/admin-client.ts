import type { z } from 'zod'
import type { Route } from '../api/admin/route.ts'
import { adminRoutes, type AdminBody, type AdminReply, type AdminRouteName } from '../api/admin/routes.ts'
import { AppError, errorTable, messageOf, type ErrorCode } from '../platform/errors.ts'
import { requestJson, type JsonAnswer } from '../http/client.ts'
import { openEvents, type SentEvent } from '../http/client/sse-reader.ts'
import { WHERE_KEYS_ARE, type Cluster } from './cluster.ts'
import { plain } from './terminal/text-width.ts'

/** Values for the parameters in a route's path; the others go into the query. */
export type Params = Readonly<Record<string, string>>

/** An event of a stream: its name (`message` if it has none) and its data. */
export interface ApiEvent {
  event: string
  data: unknown
}

export interface AdminClient {
  call<N extends AdminRouteName>(
    name: N,
    params?: Params,
    body?: AdminBody<N>,
    signal?: AbortSignal,
  ): Promise<AdminReply<N>>
  /**
   * The events of a streaming route. Resolves when the stream has begun; the iteration fails when the connection is
   * lost.
   */
  follow(name: AdminRouteName, params: Params, signal: AbortSignal): Promise<AsyncIterable<ApiEvent>>
  /** The time at the frontend as of its last answer: ages are computed by its clock, not by ours. */
  nowMs(): number
}

const TIMEOUT_MS = 30_000
/** A stream sends something every 15 s; after four times that without a byte the connection is considered dead. */
const QUIET_LIMIT_MS = 60_000

/** The admin API as the table of routes declares it. A refusal becomes an AppError with the API's own message. */
export function adminClient(cluster: Cluster): AdminClient {
  let nowMs = Date.now()
  return {
    nowMs: () => nowMs,
    async call<N extends AdminRouteName>(name: N, params: Params = {}, body?: AdminBody<N>, signal?: AbortSignal) {
      const { method, path, reply }: Route = adminRoutes[name]
      const { key: token, trust } = cluster
      const request = { method, body, token, timeoutMs: TIMEOUT_MS, signal, trust }
      const answer = await reach(cluster, () => requestJson(urlOf(cluster, path, params), request))
      nowMs = answer.dateMs ?? Date.now()
      if (answer.status < 200 || answer.status > 299) throw refusal(cluster, answer)
      return understood(cluster, reply, answer.body) as AdminReply<N>
    },
    async follow(name, params, signal) {
      const { key: token, trust } = cluster
      const request = { token, signal, quietLimitMs: QUIET_LIMIT_MS, trust }
      const answer = await reach(cluster, () => openEvents(urlOf(cluster, adminRoutes[name].path, params), request))
      if (!answer.events) throw refusal(cluster, answer)
      return parseEvents(answer.events)
    },
  }
}

function urlOf(cluster: Cluster, path: string, params: Params): URL {
  const rest = new Map(Object.entries(params))
  const filled = path.replaceAll(/:(\w+)/g, (_, name: string) => {
    rest.delete(name)
    return encodeURIComponent(params[name] ?? '')
  })
  const url = new URL(filled, cluster.url)
  for (const [name, value] of rest) url.searchParams.set(name, value)
  return url
}

async function* parseEvents(events: AsyncIterable<SentEvent>): AsyncGenerator<ApiEvent> {
  try {
    for await (const { event, data } of events) yield { event, data: parseJson(data) }
  } catch (error) {
    throw new AppError('unavailable', `The stream broke off (${whyUnreachable(error)}).`, { cause: error })
  }
}

/** Undefined when it is not JSON: the caller then finds the expected fields missing. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

/** The body as it came: fields that this version does not know belong to the output of --json, too. */
function understood(cluster: Cluster, schema: z.ZodType, body: unknown): unknown {
  const parsed = schema.safeParse(body)
  if (!parsed.success) throw misunderstood(cluster, parsed.error.issues[0])
  return body
}

/** Sends the request, and explains connection errors. */
export async function reach<T>(cluster: Cluster, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    // It has a remedy already.
    if (error instanceof AppError) throw error
    throw unreachable(cluster, error)
  }
}

function unreachable({ url, folder }: Cluster, error: unknown): AppError {
  const hint = folder === undefined ? '' : ' Start it with flotilla up, or name another with --url and --key.'
  const text = `Cannot reach the frontend at ${url}: ${whyUnreachable(error)}.${hint}`
  return new AppError('unavailable', text, { cause: error })
}

function whyUnreachable(error: unknown): string {
  const { code, name } = error as NodeJS.ErrnoException
  const reasons: Record<string, string> = {
    ECONNREFUSED: 'nothing listens there',
    ENOTFOUND: 'there is no machine of that name',
    EAI_AGAIN: 'its name cannot be looked up now',
    EHOSTUNREACH: 'there is no route to that machine',
    ENETUNREACH: 'there is no route to that network',
    ETIMEDOUT: 'it does not answer',
    ECONNRESET: 'it ended the connection',
  }
  if (name === 'AbortError' || name === 'TimeoutError') return `no answer within ${TIMEOUT_MS / 1000} s`
  // Happy eyeballs: several addresses were tried, and the first error says as much as all of them.
  const first = error instanceof AggregateError ? (error.errors[0] as NodeJS.ErrnoException) : undefined
  return reasons[code ?? first?.code ?? ''] ?? plain(messageOf(first ?? error))
}

/** The error for a refusal. */
export function refusal(cluster: Cluster, { status, body }: Pick<JsonAnswer, 'status' | 'body'>): AppError {
  if (status === 401) {
    const text = `${cluster.url} does not accept the admin key ${cluster.keyFrom}. ${WHERE_KEYS_ARE}`
    return new AppError('unauthorized', text)
  }
  const { code, message, param } =
    (body as { error?: { code?: unknown; message?: unknown; param?: unknown } } | null)?.error ?? {}
  const text = typeof message === 'string' ? plain(message) : `${cluster.url} answered with status ${status}.`
  return new AppError(isErrorCode(code) ? code : 'internal', text, {
    details: typeof param === 'string' ? { param } : {},
  })
}

function isErrorCode(code: unknown): code is ErrorCode {
  // A usage error of the API is a refusal here: exit code 2 is for this program's own arguments.
  return typeof code === 'string' && code in errorTable && code !== 'usage'
}

function misunderstood(cluster: Cluster, issue: { path: PropertyKey[]; message: string } | undefined): AppError {
  const where = issue && issue.path.length > 0 ? ` (${issue.path.map(String).join('.')}: ${issue.message})` : ''
  const hint = 'it may be another version than this program'
  return new AppError('bad_gateway', `${cluster.url} answered in a way that is not understood${where}: ${hint}.`)
}
