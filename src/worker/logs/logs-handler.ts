import type { IncomingMessage, ServerResponse } from 'node:http'
import type { z } from 'zod'
import { logQuery } from '../../api/admin/schemas.ts'
import type { Clock } from '../../platform/run/clock.ts'
import { AppError } from '../../platform/errors.ts'
import { problemParam, problemText } from '../../platform/problem-text.ts'
import { sendJson } from '../../http/server.ts'
import { SseStream } from '../../http/server/sse.ts'
import type { ReplicaLogs } from './replica-logs.ts'

/** `path` is the part after `/logs` in the URL. */
export type LogsHandler = (request: IncomingMessage, response: ServerResponse, path: string) => Promise<void>

const MOST_STREAMS = 100
/** Lines written in one piece; then the handler waits until the reader has taken them. */
const PIECE_LINES = 50

/**
 * `/logs` lists the models that have logs; `/logs/<name>` has the lines of a replica, or of all replicas of a model.
 * With `follow=1` they come as server-sent events, each with its number as id; an event `skipped` says how many lines
 * were dropped before this reader took them (null: unknown). The caller checks the reader's permission.
 */
export function logsHandler(logs: ReplicaLogs, clock: Clock): LogsHandler {
  let streams = 0

  return async (request, response, path) => {
    if (request.method !== 'GET')
      throw new AppError('method_not_allowed', `Logs are read with GET, not ${request.method}.`, { allow: ['GET'] })
    const name = parseName(path)
    if (name === undefined) return sendJson(response, 200, logs.entries())
    const { follow, ...query } = parseQuery(request)
    if (follow === '1') return stream(response, name, query)
    sendJson(response, 200, { lines: await logs.read(name, query) })
  }

  async function stream(response: ServerResponse, name: string, query: Omit<Query, 'follow'>): Promise<void> {
    if (logs.stopped.aborted) throw new AppError('unavailable', 'This node is stopping.')
    if (streams >= MOST_STREAMS) {
      throw new AppError('busy', `${MOST_STREAMS} readers follow logs of this node already.`, { retryAfterS: 10 })
    }
    // The client left meanwhile; its close event has passed.
    if (response.destroyed) return
    const gone = new AbortController()
    response.once('close', () => gone.abort())
    streams += 1
    try {
      await send(new SseStream(response, clock), logs.follow(name, query, gone.signal), gone.signal)
    } finally {
      streams -= 1
      gone.abort()
    }
  }

  async function send(reader: SseStream, batches: ReturnType<ReplicaLogs['follow']>, gone: AbortSignal): Promise<void> {
    const signal = AbortSignal.any([gone, logs.stopped])
    for await (const { skipped, lines } of batches) {
      if (skipped !== 0) reader.send([{ event: 'skipped', data: { lines: skipped } }])
      for (let i = 0; i < lines.length; i += PIECE_LINES) {
        if (!(await reader.drained(signal))) break
        reader.send(lines.slice(i, i + PIECE_LINES).map((line) => ({ id: line.seq, data: line })))
      }
      if (!(await reader.drained(signal))) break
    }
    reader.end()
  }
}

function parseName(path: string): string | undefined {
  const [encoded = ''] = path.split('?', 1)
  if (encoded === '' || encoded === '/') return undefined
  const name = /^\/([^/]+)$/.exec(encoded)?.[1]
  if (name === undefined) {
    throw new AppError('not_found', 'Logs are at /logs/<name>, with the name URL-encoded: / is %2F and # is %23.')
  }
  try {
    return decodeURIComponent(name)
  } catch (error) {
    throw new AppError('bad_request', 'The name in the path is not URL-encoded: write % as %25.', { cause: error })
  }
}

type Query = z.infer<typeof logQuery>

function parseQuery({ url = '', headers }: IncomingMessage): Query {
  const given = Object.fromEntries(new URLSearchParams(/\?(.*)$/s.exec(url)?.[1] ?? ''))
  const lastId = headers['last-event-id']
  // A reader that reconnects repeats its first URL; the header says how far it got.
  if (given['follow'] === '1' && lastId) given['after'] = String(lastId)
  const result = logQuery.safeParse(given)
  if (result.success) return result.data
  const { issues } = result.error
  throw new AppError('bad_request', `${problemText(issues, 'the query')}.`, {
    details: { param: problemParam(issues) },
  })
}
