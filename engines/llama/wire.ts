import { randomId, usageOf } from '../lib/wire-parts.ts'
import type { Tally } from './generate.ts'
import type { TokenProbability } from './answers/probabilities.ts'
import type { ToolCall } from './answers/tool-calls.ts'

/** All of an answer. */
export interface Whole {
  text: string
  tokens: TokenProbability[]
  calls: ToolCall[]
}

/** Answers in OpenAI's shapes. */
export interface Shape {
  whole(answer: Whole, tally: Tally): object
  /** Events before the first piece. */
  opening: string
  piece(text: string, tokens: readonly TokenProbability[]): string
  calls(calls: readonly ToolCall[]): string
  /** Events after the last piece. */
  closing(tally: Tally, hasCalls: boolean): string
}

export interface ShapeOptions {
  kind: 'chat' | 'text'
  model: string
  nowMs: number
  includeUsage: boolean
  hasLogprobs: boolean
}

const OWNER = 'flotilla-llama'

export function shapeOf({ kind, model, nowMs, includeUsage, hasLogprobs }: ShapeOptions): Shape {
  const chat = kind === 'chat'
  const id = `${chat ? 'chatcmpl' : 'cmpl'}-${randomId()}`
  const head = { id, created: Math.floor(nowMs / 1000), model, system_fingerprint: OWNER }
  const object = chat ? 'chat.completion.chunk' : 'text_completion'
  // Where usage was asked for, OpenAI sends it as null in every chunk but the last.
  const chunk = { ...head, object, ...(includeUsage ? { usage: null } : {}) }
  let offset = 0
  const logprobs = (tokens: readonly TokenProbability[]): object | null => {
    if (!hasLogprobs) return null
    if (chat) return { content: tokens.map(chatLogprob), refusal: null }
    const told = textLogprobs(tokens, offset)
    offset += tokens.reduce((sum, { token }) => sum + token.length, 0)
    return told
  }
  const choice = (content: object, finishReason: string | null, told: object | null = null): string =>
    event({ ...chunk, choices: [{ index: 0, ...content, logprobs: told, finish_reason: finishReason }] })
  // Nearly every event of a stream is this one with another text.
  const [before = '', after = ''] = choice(chat ? { delta: { content: MARK } } : { text: MARK }, null).split(
    JSON.stringify(MARK),
  )
  return {
    opening: chat ? choice({ delta: { role: 'assistant', content: '' } }, null) : '',
    piece(text, tokens) {
      if (!hasLogprobs) return before + JSON.stringify(text) + after
      return choice(chat ? { delta: { content: text } } : { text }, null, logprobs(tokens))
    },
    calls: (calls) => choice({ delta: { tool_calls: calls.map((call, index) => ({ index, ...toCall(call) })) } }, null),
    closing: (tally, hasCalls) =>
      choice(chat ? { delta: {} } : { text: '' }, hasCalls ? 'tool_calls' : tally.finishReason) +
      (includeUsage ? event({ ...chunk, choices: [], usage: usageOf(tally) }) : '') +
      'data: [DONE]\n\n',
    whole({ text, tokens, calls }, tally) {
      const hasCalls = calls.length > 0
      const message = {
        role: 'assistant',
        content: hasCalls && text === '' ? null : text,
        refusal: null,
        ...(hasCalls && { tool_calls: calls.map(toCall) }),
      }
      const content = chat ? { message } : { text }
      return {
        ...head,
        object: chat ? 'chat.completion' : 'text_completion',
        choices: [
          {
            index: 0,
            ...content,
            logprobs: logprobs(tokens),
            finish_reason: hasCalls ? 'tool_calls' : tally.finishReason,
          },
        ],
        usage: usageOf(tally),
      }
    },
  }
}

export function modelList(model: string, createdS: number, contextTokens: number | undefined): object {
  const context = contextTokens === undefined ? {} : { max_model_len: contextTokens }
  return { object: 'list', data: [{ id: model, object: 'model', created: createdS, owned_by: OWNER, ...context }] }
}

/** Stands for the text of a piece while the text around it is made. No argument of a process can contain it. */
const MARK = '\u0000piece\u0000'

function event(body: object): string {
  return `data: ${JSON.stringify(body)}\n\n`
}

function chatLogprob({ token, logprob, top }: TokenProbability): object {
  const withBytes = (one: { token: string; logprob: number }): object => ({
    ...one,
    bytes: [...Buffer.from(one.token)],
  })
  return { ...withBytes({ token, logprob }), top_logprobs: top.map(withBytes) }
}

function textLogprobs(tokens: readonly TokenProbability[], from: number): object {
  let offset = from
  return {
    tokens: tokens.map(({ token }) => token),
    token_logprobs: tokens.map(({ logprob }) => logprob),
    top_logprobs: tokens.map(({ top }) => Object.fromEntries(top.map(({ token, logprob }) => [token, logprob]))),
    text_offset: tokens.map(({ token }) => {
      const at = offset
      offset += token.length
      return at
    }),
  }
}

function toCall({ name, arguments: given }: ToolCall): object {
  return { id: `call_${randomId()}`, type: 'function', function: { name, arguments: given } }
}
