import { adminRoutes, type AdminBody, type AdminReply, type AdminRouteName, type Route } from '../api/admin/routes.ts'
import { AppError, errorTable, messageOf, type ErrorCode } from '../platform/errors.ts'
import { requestJson, type JsonAnswer } from '../platform/http-client.ts'
import { WHERE_KEYS_ARE, type Cluster } from './cluster.ts'
import { plain } from './text-width.ts'

export interface AdminClient {
  call<N extends AdminRouteName>(name: N, params?: Record<string, string>, body?: AdminBody<N>): Promise<AdminReply<N>>
  /** The time at the frontend as of its last answer: ages are reckoned by its clock, not by ours. */
  nowMs(): number
}

const TIMEOUT_MS = 30_000

/** The admin API as the table of routes declares it. What is refused comes as an AppError with the API's own words. */
export function adminClient(cluster: Cluster): AdminClient {
  let nowMs = Date.now()
  return {
    nowMs: () => nowMs,
    async call<N extends AdminRouteName>(name: N, params: Record<string, string> = {}, body?: AdminBody<N>) {
      const { method, path, reply }: Route = adminRoutes[name]
      const url = new URL(fill(path, params), cluster.url)
      const answer = await send(cluster, url, method, body)
      nowMs = answer.dateMs ?? Date.now()
      if (answer.status < 200 || answer.status > 299) throw refusal(cluster, answer)
      const parsed = reply.safeParse(answer.body)
      if (!parsed.success) throw misunderstood(cluster, parsed.error.issues[0])
      // The body as it came: fields that this version does not know belong to the output of --json too.
      return answer.body as AdminReply<N>
    },
  }
}

function fill(path: string, params: Record<string, string>): string {
  return path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ''))
}

async function send(cluster: Cluster, url: URL, method: Route['method'], body: unknown): Promise<JsonAnswer> {
  try {
    return await requestJson(url, { method, body, token: cluster.key, timeoutMs: TIMEOUT_MS })
  } catch (error) {
    const hint = cluster.folder === undefined ? '' : ' Start it with flotilla up, or name another with --url and --key.'
    throw new AppError('unavailable', `Cannot reach the frontend at ${cluster.url}: ${whyUnreachable(error)}.${hint}`, {
      cause: error,
    })
  }
}

function whyUnreachable(error: unknown): string {
  const { code, name } = error as NodeJS.ErrnoException
  const reasons: Record<string, string> = {
    ECONNREFUSED: 'nothing listens there',
    ENOTFOUND: 'there is no machine of that name',
    EAI_AGAIN: 'its name cannot be looked up now',
    EHOSTUNREACH: 'there is no way to that machine',
    ENETUNREACH: 'there is no way to that network',
    ETIMEDOUT: 'it does not answer',
    ECONNRESET: 'it ended the connection',
  }
  if (name === 'AbortError' || name === 'TimeoutError') return `no answer within ${TIMEOUT_MS / 1000} s`
  // Happy eyeballs: several addresses were tried, and the error of the first tells as much as all of them.
  const first = error instanceof AggregateError ? (error.errors[0] as NodeJS.ErrnoException) : undefined
  return reasons[code ?? first?.code ?? ''] ?? plain(messageOf(first ?? error))
}

function refusal(cluster: Cluster, { status, body }: JsonAnswer): AppError {
  if (status === 401) {
    const text = `${cluster.url} does not accept the admin key ${cluster.keyFrom}. ${WHERE_KEYS_ARE}`
    return new AppError('unauthorized', text)
  }
  const { code, message } = (body as { error?: { code?: unknown; message?: unknown } } | null)?.error ?? {}
  const text = typeof message === 'string' ? plain(message) : `${cluster.url} answered with status ${status}.`
  return new AppError(isErrorCode(code) ? code : 'internal', text)
}

function isErrorCode(code: unknown): code is ErrorCode {
  // What the API calls a mistake in usage is a refusal here: exit code 2 is for this program's own arguments.
  return typeof code === 'string' && code in errorTable && code !== 'usage'
}

function misunderstood(cluster: Cluster, issue: { path: PropertyKey[]; message: string } | undefined): AppError {
  const where = issue && issue.path.length > 0 ? ` (${issue.path.map(String).join('.')}: ${issue.message})` : ''
  const hint = 'its version may differ from that of this program'
  return new AppError('bad_gateway', `${cluster.url} answered in a way that is not understood${where}: ${hint}.`)
}
