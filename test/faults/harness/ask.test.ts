import { describe, expect, test } from 'vitest'
import { writeTokens } from '../../../engines/sim/text.ts'
import type { Handler } from '../../../src/http/server.ts'
import { serve } from '../../support/http/http.ts'
import { ask, type Kind } from './ask.ts'

const TEXT = 'Hello'
const prompt = `<|user|>\n${TEXT}\n<|assistant|>\n`
const TOKENS = [...writeTokens({ model: 'm', seed: 7, prompt, asked: TEXT, maxTokens: 5, ignoreEnd: true })]

const asked = async (handler: Handler, isStream: boolean, withinMs = 20_000) => {
  const url = await serve(handler)
  return ask({ url, model: 'm', isStream, tokens: 5, text: TEXT, withinMs })
}
const event = (body: object) => `data: ${JSON.stringify(body)}\n\n`
const token = (content: string) => event({ choices: [{ delta: { content }, finish_reason: null }] })
const END = event({ choices: [{ delta: {}, finish_reason: 'length' }] })
const DONE = 'data: [DONE]\n\n'

describe('a stream', () => {
  const stream = (text: string, end: 'end' | 'break' | 'wait' = 'end') =>
    asked(
      (_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream', 'x-flotilla-node': 'thor' })
        response.write(text, () => {
          if (end === 'end') response.end()
          if (end === 'break') response.destroy()
        })
      },
      true,
      end === 'wait' ? 1000 : undefined,
    )
  const all = TOKENS.map(token).join('')
  const without = (index: number) => TOKENS.filter((_, i) => i !== index)
  const told = event({ error: { message: 'The replica stopped.', code: 'bad_gateway' } })

  test.each<[string, string, Kind]>([
    ['all tokens and the end mark', all + END + DONE, 'whole'],
    ['a comment in between', `: loading\n\n${all}${END}${DONE}`, 'whole'],
    ['a token that is missing', without(2).map(token).join('') + END + DONE, 'wrong'],
    ['a token twice', token(TOKENS[0]!) + all + END + DONE, 'wrong'],
    ['one token too many', all + token('more') + END + DONE, 'wrong'],
    ['two tokens in the wrong order', [TOKENS[1]!, TOKENS[0]!].map(token).join('') + END + DONE, 'wrong'],
    ['an end mark too early', TOKENS.slice(0, 3).map(token).join('') + END + DONE, 'cut'],
    ['no end mark', all + END, 'cut'],
    ['an end mark without a reason', all + DONE, 'cut'],
    ['nothing at all', '', 'cut'],
    ['an error with words', token(TOKENS[0]!) + told, 'told'],
    ['an error without words', token(TOKENS[0]!) + event({ error: {} }), 'wrong'],
  ])('with %s', async (_, text, kind) => {
    expect(await stream(text)).toMatchObject({ kind, node: 'thor' })
  })

  test('that breaks is lost, one that never ends hangs', async () => {
    expect(await stream(token(TOKENS[0]!), 'break')).toMatchObject({ kind: 'lost', tokens: 1 })
    expect(await stream(token(TOKENS[0]!), 'wait')).toMatchObject({ kind: 'hung', tokens: 1 })
  })
})

describe('a plain answer', () => {
  const plain = (body: string, status = 200) =>
    asked((_, response) => void response.writeHead(status, { 'content-type': 'application/json' }).end(body), false)
  const answer = (content: string, finish = 'length') =>
    JSON.stringify({ choices: [{ message: { content }, finish_reason: finish }] })

  test.each<[string, string, number, Kind]>([
    ['the whole text', answer(TOKENS.join('')), 200, 'whole'],
    ['half of the text', answer(TOKENS.slice(0, 2).join('')), 200, 'wrong'],
    ['half of the JSON', answer(TOKENS.join('')).slice(0, 20), 200, 'cut'],
    ['an error with its reason', '{"error":{"code":"busy","message":"Later."}}', 503, 'refused'],
    ['an error without a reason', '<html>', 502, 'wrong'],
  ])('with %s', async (_, body, status, kind) => {
    expect(await plain(body, status)).toMatchObject({ kind })
  })

  test('of nobody was never asked for, and one that breaks before its first byte is lost', async () => {
    const nobody = { url: 'http://127.0.0.1:1', model: 'm', isStream: false, tokens: 5, text: TEXT, withinMs: 20_000 }
    expect(await ask(nobody)).toMatchObject({ kind: 'unconnected' })
    expect(await asked((_, response) => void response.destroy(), false)).toMatchObject({ kind: 'lost' })
  })
})
