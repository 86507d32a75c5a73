import { StringDecoder } from 'node:string_decoder'

export interface Usage {
  in: number
  out: number
}

interface Chunk {
  choices?: {
    delta?: { content?: string | null; reasoning_content?: string | null }
    message?: { content?: string | null; reasoning_content?: string | null }
    finish_reason?: string | null
  }[]
  usage?: { prompt_tokens?: unknown; completion_tokens?: unknown } | null
  error?: { code?: unknown; message?: unknown } | null
}

/** An event is buffered until it is complete; a longer one is ignored. */
const MOST_LINE = 4 * 1024 * 1024

/**
 * Reads an answer as it arrives and notes what is measured: when text came, how much, and whether the answer ended
 * properly.
 */
export class AnswerScan {
  /** Parts of the answer that contain text. */
  parts = 0
  characters = 0
  text = ''
  usage: Usage | undefined
  isWhole = false
  isStrange = false
  error: { code: string; message: string } | undefined
  firstMs: number | undefined
  #lastMs = 0
  #waiting = ''
  readonly #decoder = new StringDecoder('utf8')
  readonly #onGap: (ms: number) => void
  readonly #keepsText: boolean

  constructor(onGap: (ms: number) => void, keepsText: boolean) {
    this.#onGap = onGap
    this.#keepsText = keepsText
  }

  /** Some bytes of a stream of events. */
  feed(bytes: Buffer, nowMs: number): void {
    const text = this.#waiting + this.#decoder.write(bytes)
    let from = 0
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', from)) {
      this.#line(text.slice(from, end), nowMs)
      from = end + 1
    }
    this.#waiting = text.slice(from)
    if (this.#waiting.length > MOST_LINE) this.isStrange = true
  }

  /** An answer in one piece. */
  take(bytes: Buffer): void {
    const body = parse(bytes.toString('utf8'))
    if (!body) return void (this.isStrange = true)
    this.#note(body)
    const choice = body.choices?.[0]
    this.#words(choice?.message?.content ?? choice?.message?.reasoning_content)
    this.isWhole = typeof choice?.finish_reason === 'string'
  }

  #line(line: string, nowMs: number): void {
    if (!line.startsWith('data:')) return
    const data = line.slice(5).trim()
    if (data === '[DONE]') return void (this.isWhole = true)
    const chunk = parse(data)
    if (!chunk) return void (this.isStrange = true)
    this.#note(chunk)
    const delta = chunk.choices?.[0]?.delta
    const words = delta?.content || delta?.reasoning_content
    if (!isText(words)) return
    this.#words(words)
    if (this.firstMs === undefined) this.firstMs = nowMs
    else this.#onGap(nowMs - this.#lastMs)
    this.#lastMs = nowMs
  }

  #words(words: unknown): void {
    if (!isText(words)) return
    this.parts += 1
    this.characters += words.length
    if (this.#keepsText) this.text += words
  }

  #note({ usage, error }: Chunk): void {
    const { prompt_tokens: tokensIn, completion_tokens: tokensOut } = usage ?? {}
    if (typeof tokensIn === 'number' && typeof tokensOut === 'number') this.usage = { in: tokensIn, out: tokensOut }
    if (error) this.error = { code: textOf(error.code), message: textOf(error.message) }
  }
}

/** A server may send anything in place of text. */
function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}

/** Hand-written: a schema for each token would cost more than all the rest. */
function parse(text: string): Chunk | undefined {
  try {
    const parsed = JSON.parse(text) as Chunk | null
    return typeof parsed === 'object' && parsed !== null ? parsed : undefined
  } catch {
    return undefined
  }
}
