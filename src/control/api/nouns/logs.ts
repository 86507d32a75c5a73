import type { IncomingMessage, ServerResponse } from 'node:http'
import { logEntries, logQuery, type LogEntry } from '../../../api/admin/schemas.ts'
import { AppError } from '../../../platform/errors.ts'
import { readBody } from '../../../http/server.ts'
import { askDataPort } from '../../workers/data-port.ts'
import type { Answers, Streams } from '../answers.ts'
import type { AdminDeps } from '../deps.ts'
import { neededNode } from '../../views/node-view.ts'
import { readQuery } from '../query.ts'

/** Logs stay on their node; a frontend passes them on and keeps nothing. */

const MOST_LISTING_BYTES = 16 * 1024 * 1024
const LISTING_WITHIN_MS = 15_000
const MOST_READERS = 500

export function logAnswers(deps: AdminDeps): Answers<'listLogs'> {
  return {
    async listLogs(_body, { id }) {
      const node = await neededNode(deps.db, id)
      const answer = await askDataPort(deps, node, '/logs', AbortSignal.timeout(LISTING_WITHIN_MS))
      return readListing(answer, node.name)
    },
  }
}

async function readListing(answer: IncomingMessage, nodeName: string): Promise<LogEntry[]> {
  try {
    const text = (await readBody(answer, MOST_LISTING_BYTES)).toString('utf8')
    if (answer.statusCode !== 200) throw new Error(`status ${answer.statusCode}`)
    return logEntries.parse(JSON.parse(text))
  } catch (cause) {
    answer.destroy()
    throw new AppError('bad_gateway', `${nodeName} sent a list of logs that cannot be read.`, { cause })
  }
}

export function logStreams(deps: AdminDeps): Streams<'readLogs'> {
  const readers = new Set<() => void>()
  deps.ending.addEventListener('abort', () => {
    for (const letGo of readers) letGo()
  })

  return {
    async readLogs(request, response, { id, key }) {
      const query = readQuery(request, logQuery)
      const node = await neededNode(deps.db, id)
      if (readers.size >= MOST_READERS) {
        throw new AppError('busy', `${MOST_READERS} readers follow logs already.`, { retryAfterS: 10 })
      }
      // The reader has gone already, so `close` will not fire again.
      if (response.destroyed) return
      const gone = new AbortController()
      const letGo = (): void => {
        if (response.headersSent) response.end()
        gone.abort()
      }
      readers.add(letGo)
      response.once('close', () => {
        readers.delete(letGo)
        gone.abort()
      })
      const asked = Object.entries(query).map(([name, value]) => [name, String(value)])
      const path = `/logs/${encodeURIComponent(key)}?${new URLSearchParams(asked).toString()}`
      passOn(await askDataPort(deps, node, path, gone.signal), response)
    },
  }
}

/** Line by line, as the worker writes them. When either side ends, the other is ended, too. */
function passOn(answer: IncomingMessage, response: ServerResponse): void {
  response.writeHead(answer.statusCode ?? 502, {
    'content-type': answer.headers['content-type'] ?? 'application/json; charset=utf-8',
    'cache-control': 'no-store',
    // A buffering proxy would hold the lines back.
    'x-accel-buffering': 'no',
  })
  response.flushHeaders()
  answer.pipe(response)
  // Cut the connection, so that the reader does not take a part for the whole; unless we have ended it ourselves.
  answer.once('error', () => !response.writableEnded && response.destroy())
}
