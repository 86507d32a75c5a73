import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { clientRequest } from './client-request.ts'
import type { Trust } from '../../platform/tls/trust.ts'

export interface EventRequest {
  token: string
  signal: AbortSignal
  /** The connection counts as dead when nothing, not even a keep-alive, arrives for this long. */
  quietLimitMs: number
  /** Sent as JSON by POST; without it the request is a GET. */
  body?: unknown
  headers?: Record<string, string>
  /** Gets the comments between events; they are for people to read. */
  onComment?: (text: string) => void
  /** Which certificates to accept at an https address. */
  trust?: Trust | undefined
}

export interface SentEvent {
  /** `message` when it has no name. */
  event: string
  data: string
}

/** The events, or the answer that came instead of a stream. */
export type EventAnswer =
  | { events: AsyncIterable<SentEvent>; headers: IncomingHttpHeaders }
  | { events: undefined; status: number; body: unknown }

/** An event longer than this ends the stream. */
const MOST_EVENT_CHARACTERS = 16 * 1024 * 1024

/** One request for a stream of server-sent events. Resolves when it has begun. */
export async function openEvents(url: URL, options: EventRequest): Promise<EventAnswer> {
  const answer = await begin(url, options)
  const { headers } = answer
  const type = headers['content-type'] ?? ''
  if (answer.statusCode === 200 && type.startsWith('text/event-stream')) {
    return { events: readEvents(answer, options.onComment), headers }
  }
  return { events: undefined, status: answer.statusCode ?? 0, body: await readRefusal(answer) }
}

function begin(url: URL, { token, signal, quietLimitMs, ...asked }: EventRequest): Promise<IncomingMessage> {
  const body = asked.body === undefined ? undefined : JSON.stringify(asked.body)
  const headers = {
    accept: 'text/event-stream',
    authorization: `Bearer ${token}`,
    ...(body === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
    ...asked.headers,
  }
  const method = body === undefined ? 'GET' : 'POST'
  return new Promise((resolve, reject) => {
    const outgoing = clientRequest(url, { method, headers, signal }, asked.trust)
    outgoing.once('response', (answer) => {
      outgoing.removeListener('timeout', giveUp)
      outgoing.once('timeout', () => answer.destroy(quiet))
      resolve(answer)
    })
    const quiet = new Error(`nothing received for ${quietLimitMs / 1000} s`)
    const giveUp = (): void => void outgoing.destroy(quiet)
    outgoing.once('timeout', giveUp)
    // Once the answer has begun, its own error reports the same failure.
    outgoing.on('error', reject)
    outgoing.setTimeout(quietLimitMs)
    outgoing.end(body)
  })
}

/** The JSON body of a refusal; null when the body is not JSON. */
async function readRefusal(answer: IncomingMessage): Promise<unknown> {
  let text = ''
  answer.setEncoding('utf8')
  for await (const chunk of answer as AsyncIterable<string>) {
    text += chunk
    if (text.length > 1024 * 1024) break
  }
  try {
    return JSON.parse(text) as unknown
  } catch {
    return null
  }
}

/** Yields each event once it is complete. An event cut off in the middle is dropped. */
export async function* readEvents(
  chunks: AsyncIterable<Uint8Array>,
  onComment: (text: string) => void = () => {},
): AsyncGenerator<SentEvent> {
  const decoder = new TextDecoder()
  let waiting = ''
  let event = ''
  let data: string[] = []
  let dataCharacters = 0
  for await (const chunk of chunks) {
    waiting += decoder.decode(chunk, { stream: true })
    // A CR at the very end may be half of a CR LF.
    const lines = waiting.split(/\r\n|\n|\r(?!$)/)
    waiting = lines.pop()!
    for (const line of lines) {
      if (line.startsWith('data:')) {
        data.push(valueOf(line))
        dataCharacters += line.length
      } else if (line.startsWith('event:')) event = valueOf(line)
      else if (line.startsWith(':')) onComment(valueOf(line))
      else if (line === '') {
        if (data.length > 0) yield { event: event || 'message', data: data.join('\n') }
        event = ''
        data = []
        dataCharacters = 0
      }
    }
    if (dataCharacters + waiting.length > MOST_EVENT_CHARACTERS) throw new Error('an event is too long')
  }
}

/** The text after the colon, without one leading space. */
function valueOf(line: string): string {
  return line.slice(line.indexOf(':') + 1).replace(/^ /, '')
}
