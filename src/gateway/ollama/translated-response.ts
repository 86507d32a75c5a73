import { StringDecoder } from 'node:string_decoder'
import type { HttpRequest, HttpResponse } from '../../http/exchange.ts'
import { sendJson } from '../../http/server.ts'
import { EventData } from './event-data.ts'
import { errorText } from './from-openai.ts'

/** Translates an engine's answer for the client. */
export interface Translation {
  /** Records for one event of a stream. */
  onEvent(event: unknown): object[]
  /** Records after the last event. */
  onEnd(): object[]
  /** The translation of an answer that is no stream. */
  onWhole(answer: unknown): object
}

/** An answer with many vectors has some megabytes; a longer one than this is cut off. */
const MOST_CHARACTERS = 256 * 1024 * 1024
/** The headers of the answer that the client gets. */
const PASSED_ON: ReadonlySet<string> = new Set([
  'x-request-id',
  'x-flotilla-node',
  'x-flotilla-replica',
  'retry-after',
  'x-should-retry',
  'connection',
])

/**
 * The response for a translated request. It sends a stream of events to the client record by record as it comes, and any
 * other answer once it is complete. Errors of engines and of Flotilla get Ollama's format.
 */
export class TranslatedResponse implements HttpResponse {
  readonly req: HttpRequest
  statusCode = 200
  statusMessage = ''
  headersSent = false
  readonly chunkedEncoding = true
  readonly #real: HttpResponse
  readonly #translation: Translation
  readonly #headers: Record<string, string> = {}
  readonly #events = new EventData()
  readonly #decoder = new StringDecoder('utf8')
  #isStream = false
  #isFailed = false
  #text = ''

  constructor(request: HttpRequest, real: HttpResponse, translation: Translation) {
    this.req = request
    this.#real = real
    this.#translation = translation
  }

  get writableEnded(): boolean {
    return this.#real.writableEnded
  }

  setHeader(name: string, value: string): this {
    if (PASSED_ON.has(name.toLowerCase())) this.#headers[name.toLowerCase()] = value
    return this
  }

  writeHead(status: number, second: string | Record<string, string>, raw: string[] = []): this {
    this.statusCode = status
    this.headersSent = true
    let type = ''
    for (const [name, value] of typeof second === 'string' ? pairsOf(raw) : Object.entries(second)) {
      if (name.toLowerCase() === 'content-type') type = value
      this.setHeader(name, value)
    }
    this.#isStream = status === 200 && type.startsWith('text/event-stream')
    if (this.#isStream) this.#real.writeHead(200, { ...this.#headers, 'content-type': 'application/x-ndjson' })
    return this
  }

  write(piece: string | Buffer): boolean {
    if (this.#isStream) return this.#writeRecords(this.#events.push(piece).flatMap((data) => this.#recordsOf(data)))
    this.#text += typeof piece === 'string' ? piece : this.#decoder.write(piece)
    if (this.#text.length > MOST_CHARACTERS) this.destroy()
    return true
  }

  end(piece?: string | Buffer): this {
    if (piece !== undefined) this.write(piece)
    if (this.#isStream) {
      if (!this.#isFailed) this.#writeRecords(this.#translation.onEnd())
      this.#real.end()
    } else this.#sendWhole()
    return this
  }

  flushHeaders(): void {
    if (this.#isStream) this.#real.flushHeaders()
  }

  writeContinue(): void {
    // The request is already complete.
  }

  destroy(): this {
    this.#real.destroy()
    return this
  }

  once(event: 'close' | 'finish' | 'drain', listener: () => void): this {
    this.#real.once(event, listener)
    return this
  }

  #recordsOf(data: string): object[] {
    if (data.trim() === '[DONE]' || this.#isFailed) return []
    const event = parsed(data)
    const error = errorText(event)
    if (error === undefined) return this.#translation.onEvent(event)
    this.#isFailed = true
    return [{ error }]
  }

  #writeRecords(records: readonly object[]): boolean {
    if (records.length === 0) return true
    return this.#real.write(records.map((record) => `${JSON.stringify(record)}\n`).join(''))
  }

  #sendWhole(): void {
    const answer = parsed(this.#text)
    const isFine = this.statusCode === 200 && answer !== undefined && errorText(answer) === undefined
    if (isFine) return sendJson(this.#real, 200, this.#translation.onWhole(answer), this.#headers)
    const status = this.statusCode >= 400 ? this.statusCode : 502
    const said = errorText(answer) ?? this.#text.trim().slice(0, MOST_TOLD)
    const error = said === '' ? `The engine answered with status ${this.statusCode} and nothing more.` : said
    sendJson(this.#real, status, { error }, this.#headers)
  }
}

/** The most of an unreadable answer that is quoted. */
const MOST_TOLD = 4096

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

function* pairsOf(raw: readonly string[]): Generator<[string, string]> {
  for (let i = 0; i + 1 < raw.length; i += 2) yield [raw[i]!, raw[i + 1]!]
}
