import { randomId, usageOf } from '../lib/wire-parts.ts'
import type { Tally } from './engine.ts'

/** Answers in OpenAI's shapes. The texts that stay the same for each token of a stream are made once. */
export interface Shape {
  /** A whole answer. */
  whole(text: string, tally: Tally): object
  /** Events before the first token. */
  opening: string
  token(text: string): string
  /** Events after the last token. */
  closing(tally: Tally): string
}

export type CompletionKind = 'chat' | 'text'

export function shapeOf(kind: CompletionKind, model: string, nowMs: number, includeUsage: boolean): Shape {
  const chat = kind === 'chat'
  const id = `${chat ? 'chatcmpl' : 'cmpl'}-${randomId()}`
  const head = { id, created: Math.floor(nowMs / 1000), model, system_fingerprint: 'flotilla-sim' }
  const object = chat ? 'chat.completion.chunk' : 'text_completion'
  // Where usage was asked for, OpenAI sends it as null in every chunk but the last.
  const chunk = { ...head, object, ...(includeUsage ? { usage: null } : {}) }
  const [before = '', after = ''] = event({
    ...chunk,
    choices: [
      { index: 0, ...(chat ? { delta: { content: MARK } } : { text: MARK }), logprobs: null, finish_reason: null },
    ],
  }).split(JSON.stringify(MARK))
  const choice = (delta: object, finishReason: string | null): object => ({
    ...chunk,
    choices: [{ index: 0, ...(chat ? { delta } : { text: '' }), logprobs: null, finish_reason: finishReason }],
  })
  return {
    whole: (text, tally) => ({
      ...head,
      object: chat ? 'chat.completion' : 'text_completion',
      choices: [
        {
          index: 0,
          ...(chat ? { message: { role: 'assistant', content: text, refusal: null } } : { text }),
          logprobs: null,
          finish_reason: tally.finishReason,
        },
      ],
      usage: usageOf(tally),
    }),
    opening: chat ? event(choice({ role: 'assistant', content: '' }, null)) : '',
    token: (text) => before + JSON.stringify(text) + after,
    closing: (tally) =>
      event(choice({}, tally.finishReason)) +
      (includeUsage ? event({ ...chunk, choices: [], usage: usageOf(tally) }) : '') +
      'data: [DONE]\n\n',
  }
}

export function modelList(model: string, createdS: number, contextTokens: number): object {
  return {
    object: 'list',
    data: [{ id: model, object: 'model', created: createdS, owned_by: 'flotilla-sim', max_model_len: contextTokens }],
  }
}

function event(body: object): string {
  return `data: ${JSON.stringify(body)}\n\n`
}

/** Stands for the text of a token while the text around it is made. No argument of a process can contain it. */
const MARK = '\u0000token\u0000'
