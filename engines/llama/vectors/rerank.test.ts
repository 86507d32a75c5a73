import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { llamaEngine } from '../../../test/support/worker/llama-engine.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { startLlama } from '../testing/start-llama.ts'
import { writeTinyBert, type TinyBert } from '../testing/tiny-bert.ts'

beforeAll(() => llamaEngine(), 300_000)

interface Ranking {
  results: { index: number; relevance_score: number; document?: { text: string } }[]
  usage: { prompt_tokens: number; total_tokens: number }
}

const TRAINED_TOKENS = 1024
const query = 'what is a slot'
const documents = ['a node has slots', 'the gateway', 'a slot is for one replica', 'no text', 'the router']

async function startBert(bert: Partial<TinyBert> = {}, args: string[] = []): Promise<string> {
  const file = join(tempFolder(), 'tiny-bert.gguf')
  writeTinyBert(file, { ranks: true, contextTokens: TRAINED_TOKENS, ...bert })
  const context = String(TRAINED_TOKENS)
  return (await startLlama(['--model', file, '--alias', 'tiny-bert', '--context', context, ...args])).url
}

async function post(url: string, path: string, body: object): Promise<{ status: number; body: unknown }> {
  const response = await fetch(`${url}${path}`, { method: 'POST', body: JSON.stringify(body) })
  return { status: response.status, body: await response.json() }
}

async function rank(url: string, body: object): Promise<Ranking> {
  const answer = await post(url, '/v1/rerank', { query, documents, ...body })
  expect(answer.status).toBe(200)
  return answer.body as Ranking
}

/** In the order of the documents. */
async function scores(url: string, body: object): Promise<number[]> {
  const { results } = await rank(url, body)
  return results.toSorted((one, other) => one.index - other.index).map((result) => result.relevance_score)
}

test('every document is ranked, the best one first', async () => {
  const url = await startBert()
  const { results, ...rest } = await rank(url, {})
  // Four words of the query and two tokens around them are read with each document.
  const tokens = 5 * 6 + 4 + 2 + 6 + 2 + 2
  expect(rest).toEqual({
    object: 'list',
    model: 'tiny-bert',
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  })
  const found = results.map((result) => result.relevance_score)
  expect(found).toEqual(found.toSorted((one, other) => other - one))
  expect(new Set(found).size).toBe(5)
  expect(found.every((score) => score > 0 && score < 1)).toBe(true)
  expect(new Set(results.map(({ index }) => index))).toEqual(new Set([0, 1, 2, 3, 4]))
  const best = await rank(url, { top_n: 2, return_documents: true })
  expect(best.results).toEqual(results.slice(0, 2).map((r) => ({ ...r, document: { text: documents[r.index] } })))
  const metrics = await (await fetch(`${url}/metrics`)).text()
  expect(metrics).toContain(`\nllamacpp:prompt_tokens_total ${2 * tokens}\n`)
})

test('a pair has one score, whatever is ranked beside it and however many ask at once', async () => {
  const url = await startBert({}, ['--parallel', '2'])
  const together = await scores(url, {})
  const alone = await Promise.all(documents.map((document) => scores(url, { documents: [document] })))
  expect(alone.flat()).toEqual(together)
  const turned = await Promise.all(
    Array.from({ length: 8 }, (_, by) => scores(url, { documents: [...documents.slice(by % 5), ...documents] })),
  )
  for (const [by, found] of turned.entries()) expect(found).toEqual([...together.slice(by % 5), ...together])
  expect(await scores(url, { query: 'no replica' })).not.toEqual(together)
})

test('all of a long document counts', async () => {
  const url = await startBert()
  const long = ['one '.repeat(700), `two ${'one '.repeat(699)}`, `${'one '.repeat(699)}two`]
  expect(new Set(await scores(url, { documents: long })).size).toBe(3)
})

test('what is too long for the model is refused, also where a longer context was asked for', async () => {
  const url = await startBert({}, ['--context', '4096'])
  const tooLong = { status: 400, body: { error: { code: 'context_length_exceeded', param: 'documents' } } }
  const text = (words: number): string => 'one '.repeat(words)
  const ask = (words: number): Promise<unknown> =>
    post(url, '/v1/rerank', { query, documents: ['a node', text(words)] })
  expect(await ask(2000)).toMatchObject(tooLong)
  // Six are read with it.
  expect(await ask(TRAINED_TOKENS - 6)).toMatchObject(tooLong)
  expect(await ask(TRAINED_TOKENS - 7)).toMatchObject({ status: 200 })
})

test('a model is asked only for what it can do', async () => {
  const ranker = await startBert()
  const maker = await startBert({ ranks: false })
  const refused = (code: string): object => ({ status: 400, body: { error: { code } } })
  const chat = { messages: [{ role: 'user', content: query }] }
  for (const url of [ranker, maker]) {
    expect(await post(url, '/v1/completions', { prompt: query })).toMatchObject(refused('no_text'))
    expect(await post(url, '/v1/chat/completions', chat)).toMatchObject(refused('no_text'))
  }
  expect(await post(ranker, '/v1/embeddings', { input: query })).toMatchObject(refused('unsupported_model'))
  const { status, body } = await post(maker, '/v1/rerank', { query, documents })
  expect(status).toBe(400)
  expect(body).toMatchObject({
    error: { message: 'This model cannot rank documents. Ask a model that is made for ranking.', param: 'model' },
  })
})

test('a model for embeddings reads long texts as a whole, and no longer ones than it was trained for', async () => {
  const url = await startBert({ ranks: false }, ['--context', '4096'])
  const input = ['one '.repeat(700), `two ${'one '.repeat(699)}`]
  const { body } = await post(url, '/v1/embeddings', { input })
  const [one, other] = (body as { data: { embedding: number[] }[] }).data.map(({ embedding }) => embedding)
  expect(one).toHaveLength(32)
  expect(other).not.toEqual(one)
  const ask = (words: number): Promise<unknown> => post(url, '/v1/embeddings', { input: 'one '.repeat(words) })
  const tooLong = { status: 400, body: { error: { code: 'context_length_exceeded' } } }
  // Each text has a token before it and one behind it.
  for (const words of [3000, TRAINED_TOKENS - 2]) expect(await ask(words)).toMatchObject(tooLong)
  expect(await ask(TRAINED_TOKENS - 3)).toMatchObject({ status: 200 })
})
