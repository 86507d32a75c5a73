import { expect, test } from 'vitest'
import { partsOf, readChat } from './chat-stream.ts'

async function read(...chunks: string[]): Promise<unknown[]> {
  const bytes = chunks.map((chunk) => new TextEncoder().encode(chunk))
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      const next = bytes.shift()
      if (next) controller.enqueue(next)
      else controller.close()
    },
  })
  const parts = []
  for await (const part of readChat(body)) parts.push(part)
  return parts
}

test('text comes as it is said, wherever the bytes are cut', async () => {
  const stream =
    'data: {"choices":[{"delta":{"content":"Ahoy"}}]}\n\ndata: {"usage":{"completion_tokens":2}}\n\ndata: [DONE]\n\n'
  for (let i = 1; i < stream.length; i += 1) {
    expect(await read(stream.slice(0, i), stream.slice(i))).toEqual([
      { kind: 'text', text: 'Ahoy' },
      { kind: 'usage', completionTokens: 2 },
    ])
  }
})

test('comments say how far the model is', () => {
  expect(partsOf(': loading model=m state=staging node=thor progress=43')).toEqual([
    { kind: 'loading', state: 'staging', node: 'thor', percent: 43 },
  ])
  expect(partsOf(': loading model=m state=waiting progress=0')).toEqual([
    { kind: 'loading', state: 'waiting', node: null, percent: 0 },
  ])
})

test('an error in the middle of a stream is told, and what makes no sense is passed over', () => {
  expect(partsOf('data: {"error":{"message":"the engine has gone"}}')).toEqual([
    { kind: 'error', message: 'the engine has gone' },
  ])
  expect(partsOf('data: {oops')).toEqual([])
  expect(partsOf('event: ping')).toEqual([])
})
