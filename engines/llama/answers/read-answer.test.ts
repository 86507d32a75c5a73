import { expect, test } from 'vitest'
import type { Piece } from '../generate.ts'
import { readAnswer, type AnswerPart } from './read-answer.ts'

async function* piecesOf(texts: string[]): AsyncGenerator<Piece> {
  for (const text of texts) yield { text, tokens: [] }
}

async function allOf(parts: AsyncIterable<AnswerPart>): Promise<AnswerPart[]> {
  const all: AnswerPart[] = []
  for await (const part of parts) all.push(part)
  return all
}

async function read(texts: string[], forced?: object): Promise<AnswerPart[]> {
  const tools = { tools: [], names: ['look'], forced }
  return allOf(readAnswer(piecesOf(texts), tools))
}

const call = '{"name":"look","arguments":{}}'

test('text before a call is told as it comes, the call at the end', async () => {
  expect(await read(['I ', 'look. <tool', '_call>', call, '</tool_call>'])).toEqual([
    { text: 'I ', tokens: [] },
    { text: 'look. ', tokens: [] },
    { calls: [{ name: 'look', arguments: '{}' }] },
  ])
})

test('an answer that begins with a brace is kept until it is clear what it is', async () => {
  expect(await read([' {"name":', call.slice(8)])).toEqual([{ calls: [{ name: 'look', arguments: '{}' }] }])
  expect(await read(['{"slots"', ': 2}'])).toEqual([{ text: '{"slots": 2}', tokens: [] }])
})

test('what looked like a call and was none is told after all', async () => {
  const parts = await read(['see <tool_call> in the manual'])
  expect(parts.map((part) => ('text' in part ? part.text : '')).join('')).toBe('see <tool_call> in the manual')
})

test('a call that was demanded is the whole answer', async () => {
  expect(await read([call.slice(0, 5), call.slice(5)], {})).toEqual([{ calls: [{ name: 'look', arguments: '{}' }] }])
})

test('without tools nothing is looked for', async () => {
  expect(await allOf(readAnswer(piecesOf([call]), undefined))).toEqual([{ text: call, tokens: [] }])
})
