import { request as httpRequest, type IncomingMessage } from 'node:http'
import { writeTokens } from '../../../engines/sim/text.ts'

/**
 * What became of a request, one of these:
 *
 * whole        every token, in order, and the end mark
 * refused      an error with a code and a message, before anything else had come
 * told         an error with a message in the stream, after it had begun
 * lost         the connection to the gateway broke, which every client notices
 * unconnected  there is no gateway at that address now; the request was never sent
 * wrong        a token that is not the next one
 * cut          ended as if whole, and is not
 * hung         still no end after all the time there is
 */
export const kinds = ['whole', 'refused', 'told', 'lost', 'unconnected', 'wrong', 'cut', 'hung'] as const
export type Kind = (typeof kinds)[number]

export interface Asked {
  url: string
  model: string
  isStream: boolean
  tokens: number
  /** What it says; the answer depends on it. */
  text: string
  withinMs: number
  /** The answer has begun, and says which node gives it. */
  onNode?: (node: string) => void
}

export interface Ending {
  kind: Kind
  /** What was wrong, for a person. */
  detail: string
  /** Which node answered, if one did. */
  node: string | undefined
  /** Tokens that had come. */
  tokens: number
}

const SEED = 7

/** Asks once, without trying again, and checks the answer token by token. */
export function ask(asked: Asked): Promise<Ending> {
  const body = JSON.stringify({
    model: asked.model,
    stream: asked.isStream,
    max_tokens: asked.tokens,
    ignore_eos: true,
    seed: SEED,
    messages: [{ role: 'user', content: asked.text }],
  })
  return new Promise((resolve) => {
    const progress = { tokens: 0, node: undefined as string | undefined }
    const end = (kind: Kind, detail = ''): void => {
      clearTimeout(late)
      resolve({ kind, detail, ...progress })
      outgoing.destroy()
    }
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
    // A connection for each: one that is kept may be closed in the moment in which it is used, which says nothing of us.
    const outgoing = httpRequest(`${asked.url}/v1/chat/completions`, { method: 'POST', headers, agent: false })
    const late = setTimeout(() => end('hung', `no end after ${asked.withinMs / 1000} s`), asked.withinMs)
    outgoing.on('error', (error: NodeJS.ErrnoException) => {
      end(error.code === 'ECONNREFUSED' ? 'unconnected' : 'lost', `before an answer: ${error.message}`)
    })
    outgoing.on('response', (answer) => {
      progress.node = answer.headers['x-flotilla-node'] as string | undefined
      if (progress.node !== undefined && answer.statusCode === 200) asked.onNode?.(progress.node)
      answer.setEncoding('utf8')
      answer.on('error', (error) => end('lost', `after ${progress.tokens} tokens: ${error.message}`))
      if (answer.statusCode !== 200) readWhole(answer, (text) => end(...judgeError(answer.statusCode!, text)))
      else if (asked.isStream) readStream(answer, expectedTokens(asked), progress, end)
      else readWhole(answer, (text) => end(...judgeAnswer(text, expectedTokens(asked))))
    })
    outgoing.end(body)
  })
}

function expectedTokens({ model, text, tokens }: Asked): string[] {
  const prompt = `<|user|>\n${text}\n<|assistant|>\n`
  return [...writeTokens({ model, seed: SEED, prompt, asked: text, maxTokens: tokens, ignoreEnd: true })]
}

function readWhole(answer: IncomingMessage, onText: (text: string) => void): void {
  let text = ''
  answer.on('data', (piece: string) => (text += piece))
  answer.on('end', () => onText(text))
}

function judgeError(status: number, text: string): [Kind, string] {
  try {
    const { error } = JSON.parse(text) as { error: { code?: string; message?: string } }
    if (error.message && error.code) return ['refused', `${status} ${error.code}: ${error.message}`]
  } catch {
    // Told below.
  }
  return ['wrong', `${status} without a reason: ${text.slice(0, 200)}`]
}

function judgeAnswer(text: string, expected: readonly string[]): [Kind, string] {
  type Answer = { choices: { message: { content: string }; finish_reason: string }[] }
  let answer: Answer
  try {
    answer = JSON.parse(text) as Answer
  } catch {
    return ['cut', `not JSON: …${text.slice(-100)}`]
  }
  const choice = answer.choices?.[0]
  if (choice?.message.content === expected.join('') && choice.finish_reason === 'length') return ['whole', '']
  return ['wrong', `another text: ${text.slice(0, 300)}`]
}

function readStream(
  answer: IncomingMessage,
  expected: readonly string[],
  progress: { tokens: number },
  end: (kind: Kind, detail?: string) => void,
): void {
  let rest = ''
  let finish: string | undefined
  let isOver = false
  const over = (kind: Kind, detail?: string): void => {
    isOver = true
    end(kind, detail)
  }
  const take = (data: string): void => {
    if (data === '[DONE]') {
      if (progress.tokens === expected.length && finish === 'length') return over('whole')
      return over('cut', `ended after ${progress.tokens} of ${expected.length} tokens`)
    }
    type Chunk = { error?: { message?: string }; choices?: { delta: { content?: string }; finish_reason: string }[] }
    const { error, choices } = JSON.parse(data) as Chunk
    if (error) return error.message ? over('told', error.message) : over('wrong', `an error without words: ${data}`)
    const choice = choices?.[0]
    finish = choice?.finish_reason ?? finish
    const token = choice?.delta.content
    if (token === undefined || token === '') return
    if (token !== expected[progress.tokens]) {
      return over('wrong', `token ${progress.tokens} is "${token}", not "${expected[progress.tokens]}"`)
    }
    progress.tokens += 1
  }
  answer.on('data', (piece: string) => {
    const events = (rest + piece).split('\n\n')
    rest = events.pop() ?? ''
    for (const event of events) if (!isOver && event.startsWith('data: ')) take(event.slice('data: '.length))
  })
  answer.on('end', () => isOver || over('cut', `no end mark after ${progress.tokens} tokens`))
}
