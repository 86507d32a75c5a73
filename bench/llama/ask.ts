import { request, type IncomingMessage } from 'node:http'
import { prompts } from './prompts.ts'

const MOST_TOKENS = 128

/** All clients at a time, each asking again as soon as it has its answer. */
export async function askFor(
  url: string,
  clients: number,
  durationMs: number,
): Promise<{ tokens: number; tookMs: number }> {
  const beganMs = performance.now()
  let tokens = 0
  const client = async (first: number): Promise<void> => {
    for (let turn = first; performance.now() - beganMs < durationMs; turn += 1) {
      const answer = await stream(url, prompts.stories[turn % prompts.stories.length]!)
      tokens += answer.tokens
    }
  }
  await Promise.all(Array.from({ length: clients }, (_, index) => client(index)))
  return { tokens, tookMs: performance.now() - beganMs }
}

/** How long until the first text of an answer. */
export async function firstTokenMs(url: string, prompt: string): Promise<number> {
  return (await stream(url, prompt)).firstMs
}

/** Greedy, so that both engines have the same to say. */
async function stream(url: string, content: string): Promise<{ tokens: number; firstMs: number }> {
  const beganMs = performance.now()
  const messages = [{ role: 'user', content }]
  const asked = { model: 'bench', messages, temperature: 0, max_tokens: MOST_TOKENS, stream: true }
  const response = await post(url, JSON.stringify({ ...asked, stream_options: { include_usage: true } }))
  let firstMs: number | undefined
  let text = ''
  for await (const part of response.setEncoding('utf8')) {
    text += String(part)
    if (firstMs === undefined && /"content":"[^"]/.test(text)) firstMs = performance.now() - beganMs
  }
  const tokens = Number(/"completion_tokens":\s*(\d+)/.exec(text)?.[1])
  if (tokens > 0 && firstMs !== undefined) return { tokens, firstMs }
  throw new Error(`${url} answered ${response.statusCode} without text or usage: ${text.slice(-300)}`)
}

/** Each on a connection of its own: llama-server says that it keeps one alive after a stream, and closes it. */
function post(url: string, body: string): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const headers = { 'content-type': 'application/json' }
  const options = { method: 'POST', headers, agent: false }
  request(`${url}/v1/chat/completions`, options, resolve).once('error', reject).end(body)
  return promise
}
