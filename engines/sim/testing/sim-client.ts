import { request, type IncomingMessage } from 'node:http'
import type { StartedSim } from './start-sim.ts'

/** What tests say to an engine, in few words. Bodies are loosely typed: the tests check their shape. */
export interface Reply {
  status: number
  retryAfter: string | null
  // oxlint-disable-next-line typescript/no-explicit-any -- a test reads whatever came
  body: any
}

export async function get(url: string, signal?: AbortSignal): Promise<Reply> {
  return toReply(await fetch(url, { signal: signal ?? null }))
}

export async function post(url: string, body: object | string, signal?: AbortSignal): Promise<Reply> {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return toReply(await fetch(url, { method: 'POST', body: text, signal: signal ?? null }))
}

export async function stateOf(sim: StartedSim): Promise<Record<string, unknown>> {
  return (await get(`${sim.url}/sim/state`)).body
}

export interface EventStream {
  type: string | undefined
  /** The data of the next event, or nothing at the end; rejects when the stream breaks. */
  next: () => Promise<string | undefined>
  leave: () => void
}

/**
 * Opens a stream; resolves when its head has come, which is when the first token has. Nothing is read before `next` is
 * called. By hand and not by fetch, which drops what has arrived when the connection breaks.
 */
export async function streamOf(url: string, body: object): Promise<EventStream> {
  const asked = request(url, { method: 'POST', agent: false })
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    asked.on('response', resolve).on('error', reject)
    asked.end(JSON.stringify({ ...body, stream: true }))
  })
  if (response.statusCode !== 200) throw new Error(`no stream: ${response.statusCode}`)
  const stream: Arriving = { response, text: '', ended: false, problem: undefined, wake: () => {} }
  response.on('end', () => {
    stream.ended = true
    stream.wake()
  })
  response.on('error', (problem) => {
    stream.problem = problem
    stream.wake()
  })
  const events = eventsOf(stream)
  const next = async (): Promise<string | undefined> => {
    const { value, done } = await events.next()
    return done === true ? undefined : value
  }
  return { type: response.headers['content-type'], next, leave: () => asked.destroy() }
}

export async function readEvents(stream: EventStream): Promise<string[]> {
  const events: string[] = []
  for (let data = await stream.next(); data !== undefined; data = await stream.next()) events.push(data)
  return events
}

const PATIENCE_MS = 20_000
const PAUSE_MS = 10

/** Tries until `check` passes; its last failure is the test's, when patience ends. */
export async function eventually(check: () => Promise<void>): Promise<void> {
  const untilMs = Date.now() + PATIENCE_MS
  for (;;) {
    try {
      return await check()
    } catch (error) {
      if (Date.now() > untilMs) throw error
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
    }
  }
}

async function toReply(response: Response): Promise<Reply> {
  return { status: response.status, retryAfter: response.headers.get('retry-after'), body: await response.json() }
}

interface Arriving {
  response: IncomingMessage
  text: string
  ended: boolean
  problem: Error | undefined
  wake: () => void
}

async function* eventsOf(stream: Arriving): AsyncGenerator<string, void> {
  stream.response.setEncoding('utf8').on('data', (chunk: string) => {
    stream.text += chunk
    stream.wake()
  })
  for (;;) {
    const events = stream.text.split('\n\n')
    stream.text = events.pop() ?? ''
    for (const event of events) yield event.replace(/^data: /, '')
    if (stream.text.includes('\n\n')) continue
    if (stream.problem) throw stream.problem
    if (stream.ended) return
    await new Promise<void>((resolve) => {
      stream.wake = resolve
    })
  }
}
