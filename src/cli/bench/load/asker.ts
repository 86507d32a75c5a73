import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import type { Clock } from '../../../platform/run/clock.ts'
import { messageOf } from '../../../platform/errors.ts'
import { Agent, request as httpRequest } from '../../../http/server/node-http.ts'
import { AnswerScan } from './answer-scan.ts'
import type { Failure, FailureKind, Outcome } from './outcome.ts'

export interface Ask {
  model: string
  messages: readonly { role: 'user' | 'assistant'; content: string }[]
  maxTokens: number
  isStreamed: boolean
  /** An estimate, for answers that do not report it. */
  promptTokens: number
  keepsText: boolean
}

export interface Asker {
  /** Never rejects: every result is an outcome. `onGap` gets the time between two parts of a stream. */
  ask(ask: Ask, onGap: (ms: number) => void): Promise<Outcome>
  /** Ends all running requests; their outcome is `unfinished`. */
  abandon(): void
}

export interface AskerOptions {
  url: URL
  key: string
  mostInFlight: number
  timeoutMs: number
  clock: Clock
}

const MOST_ANSWER_BYTES = 16 * 1024 * 1024
const MOST_REFUSAL_BYTES = 64 * 1024

/**
 * Sends requests over kept connections, as many as there are requests at a time. Bare node:http, so that this is not
 * the bottleneck.
 */
export function startAsker({ url, key, mostInFlight, timeoutMs, clock }: AskerOptions): Asker {
  const isHttps = url.protocol === 'https:'
  const kept = { keepAlive: true, maxSockets: mostInFlight, maxFreeSockets: mostInFlight, scheduling: 'lifo' as const }
  const agent = isHttps ? new HttpsAgent(kept) : new Agent(kept)
  const path = new URL('/v1/chat/completions', url)
  const options: RequestOptions = {
    protocol: path.protocol,
    hostname: path.hostname,
    port: path.port,
    path: path.pathname,
    method: 'POST',
    agent,
  }
  const running = new Set<ClientRequest>()
  let isOver = false

  const attempt = (body: string, ask: Ask, onGap: (ms: number) => void, isAgain: boolean): Promise<Outcome> =>
    new Promise((resolve) => {
      const scan = new AnswerScan(onGap, ask.keepsText)
      const headers = {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      }
      const outgoing = (isHttps ? httpsRequest : httpRequest)({ ...options, headers })
      running.add(outgoing)
      let answer: IncomingMessage | undefined
      let isLate = false
      const cancelTimeout = clock.after(timeoutMs, () => {
        isLate = true
        outgoing.destroy()
      })
      const end = (failure: Failure | undefined): void => {
        if (!running.delete(outgoing)) return
        cancelTimeout()
        resolve({ ...outcomeOf(ask, scan, answer, clock.nowMs(), failure), isSentAgain: isAgain })
      }
      const broken = (error: unknown): void => {
        if (isOver) return end(failed('unfinished'))
        if (isLate) return end(failed('timeout', `no end within ${timeoutMs / 1000} s`))
        // The server closed a kept connection just as it was reused: that is no answer to this request.
        const { code = 'connection lost' } = error as NodeJS.ErrnoException
        if (!answer && outgoing.reusedSocket && code === 'ECONNRESET' && !isAgain && running.delete(outgoing)) {
          cancelTimeout()
          return void attempt(body, ask, onGap, true).then(resolve)
        }
        end(answer ? failed('cut', code) : failed('unreachable', code, messageOf(error)))
      }
      outgoing.on('error', broken)
      outgoing.once('response', (incoming) => {
        answer = incoming
        incoming.on('error', broken)
        incoming.once('close', () => {
          if (!incoming.complete) broken(new Error('closed'))
        })
        readAnswer(incoming, scan, clock, end)
      })
      outgoing.end(body)
    })

  return {
    ask: (ask, onGap) => attempt(bodyOf(ask), ask, onGap, false),
    abandon() {
      isOver = true
      for (const outgoing of running) outgoing.destroy()
      agent.destroy()
    },
  }
}

/** `ignore_eos` makes engines write the full length, so that runs can be compared. */
function bodyOf({ model, messages, maxTokens, isStreamed }: Ask): string {
  const stream = isStreamed ? { stream: true, stream_options: { include_usage: true } } : {}
  return JSON.stringify({ model, messages, max_tokens: maxTokens, ignore_eos: true, ...stream })
}

function readAnswer(
  answer: IncomingMessage,
  scan: AnswerScan,
  clock: Clock,
  end: (failure: Failure | undefined) => void,
): void {
  const isOk = answer.statusCode === 200
  const isStream = isOk && (answer.headers['content-type'] ?? '').startsWith('text/event-stream')
  const chunks: Buffer[] = []
  let bytes = 0
  answer.on('data', (chunk: Buffer) => {
    if (isStream) return scan.feed(chunk, clock.nowMs())
    bytes += chunk.length
    if (bytes <= (isOk ? MOST_ANSWER_BYTES : MOST_REFUSAL_BYTES)) chunks.push(chunk)
  })
  answer.once('end', () => {
    if (!isStream) scan.take(Buffer.concat(chunks))
    end(isOk ? whyNotWhole(scan) : refusalOf(answer.statusCode ?? 0, scan))
  })
}

function whyNotWhole(scan: AnswerScan): Failure | undefined {
  if (scan.error) return failed('error in stream', scan.error.code, scan.error.message)
  if (scan.isStrange) return failed('not understood')
  if (!scan.isWhole) return failed('cut', 'ended without an end')
  return scan.parts === 0 ? failed('empty') : undefined
}

function refusalOf(status: number, { error }: AnswerScan): Failure {
  return failed('refused', `${status} ${error?.code ?? ''}`.trim(), error?.message)
}

function failed(kind: FailureKind, detail = '', message = ''): Failure {
  return { kind, detail, message }
}

/** A token of English has near four characters. */
const CHARACTERS_PER_TOKEN = 4

function outcomeOf(
  ask: Ask,
  scan: AnswerScan,
  answer: IncomingMessage | undefined,
  endMs: number,
  failure: Failure | undefined,
): Omit<Outcome, 'isSentAgain'> {
  const { usage } = scan
  const estimated = ask.isStreamed ? scan.parts : Math.round(scan.characters / CHARACTERS_PER_TOKEN)
  const header = (name: string): string | undefined => {
    const value = answer?.headers[name]
    return typeof value === 'string' ? value : undefined
  }
  const id = header('x-flotilla-replica')
  return {
    endMs,
    firstMs: scan.firstMs,
    text: scan.text,
    tokensIn: usage?.in ?? ask.promptTokens,
    tokensOut: usage?.out ?? estimated,
    isEstimated: usage === undefined,
    requestId: header('x-request-id'),
    replica: id === undefined ? undefined : { id, node: decoded(header('x-flotilla-node') ?? '') },
    failure,
  }
}

function decoded(text: string): string {
  try {
    return decodeURI(text)
  } catch {
    return text
  }
}
