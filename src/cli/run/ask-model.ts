import { z } from 'zod'
import { AppError } from '../../platform/errors.ts'
import { openEvents } from '../../http/client/sse-reader.ts'
import { reach, refusal } from '../admin-client.ts'
import type { Cluster } from '../cluster.ts'
import { plain } from '../terminal/text-width.ts'

export interface Message {
  role: 'system' | 'user' | 'assistant'
  content: string
}

export interface Question {
  model: string
  messages: readonly Message[]
  /** What else the API takes, such as `temperature`. */
  settings: Readonly<Record<string, number>>
}

export interface Listener {
  onText: (text: string) => void
  /** The model's reasoning before the answer, if it reports any. */
  onThought: (text: string) => void
  /** While the model is loaded: how far it is. */
  onLoading: (text: string) => void
}

export interface ModelAnswer {
  text: string
  /** `stop`, `length`, …; null when it was stopped. */
  finish: string | null
  usage: unknown
  requestId: string | undefined
  isStopped: boolean
}

/** The first word of a long prompt may take minutes on a small machine. */
const QUIET_LIMIT_MS = 15 * 60_000

const chunk = z.object({
  choices: z
    .array(
      z.object({
        delta: z.object({ content: z.string().nullish(), reasoning_content: z.string().nullish() }).optional(),
        finish_reason: z.string().nullish(),
      }),
    )
    .default([]),
  usage: z.unknown().optional(),
  error: z.object({ message: z.string() }).nullish(),
})

/** One answer, as it comes. If `signal` stops it, the text so far is the answer. */
export async function askModel(
  { url, ...cluster }: Cluster,
  { model, messages, settings }: Question,
  listener: Listener,
  signal: AbortSignal,
): Promise<ModelAnswer> {
  const answer: ModelAnswer = { text: '', finish: null, usage: null, requestId: undefined, isStopped: false }
  const body = { model, messages, ...settings, stream: true, stream_options: { include_usage: true } }
  const request = {
    token: cluster.key,
    trust: cluster.trust,
    signal,
    quietLimitMs: QUIET_LIMIT_MS,
    body,
    headers: { 'x-flotilla-wait': 'keep-alive' },
    onComment: (text: string) => tellLoading(text, listener),
  }
  try {
    const open = () => openEvents(new URL('/v1/chat/completions', url), request)
    const reply = await reach({ url, ...cluster }, open)
    if (!reply.events) throw refusal({ url, ...cluster }, reply)
    const id = reply.headers['x-request-id']
    answer.requestId = typeof id === 'string' ? id : undefined
    const isWhole = await take(reply.events, answer, listener)
    if (!isWhole) throw new AppError('unavailable', 'The answer broke off before its end.')
  } catch (error) {
    if (!signal.aborted) throw error instanceof AppError ? error : brokenOff(error)
    answer.isStopped = true
  }
  return answer
}

/** Returns whether the answer ended properly. */
async function take(
  events: AsyncIterable<{ data: string }>,
  answer: ModelAnswer,
  { onText, onThought }: Listener,
): Promise<boolean> {
  for await (const { data } of events) {
    if (data === '[DONE]') return true
    const { choices, usage, error } = parse(data)
    if (error) throw new AppError('bad_gateway', plain(error.message))
    const { delta, finish_reason: finish } = choices[0] ?? {}
    if (delta?.reasoning_content) onThought(delta.reasoning_content)
    if (delta?.content) {
      answer.text += delta.content
      onText(delta.content)
    }
    if (usage) answer.usage = usage
    if (finish) answer.finish = finish
  }
  return answer.finish !== null
}

function parse(data: string): z.infer<typeof chunk> {
  try {
    const parsed = chunk.safeParse(JSON.parse(data))
    if (parsed.success) return parsed.data
  } catch {
    // Told below.
  }
  throw new AppError('bad_gateway', 'The model answered in a way that is not understood.')
}

/** `loading model=m state=staging node=gpu-1 progress=43`, as gateways say it. */
function tellLoading(comment: string, { onLoading }: Listener): void {
  const match = /^loading model=.* state=(\w+)(?: node=(.*))? progress=(\d+)$/s.exec(comment)
  if (!match) return
  const [, state = '', node, progress = '0'] = match
  if (state === 'waiting') return onLoading('waiting to be placed')
  const where = node === undefined ? '' : ` on ${plain(node)}`
  onLoading(`${STATES[state] ?? plain(state)}${where}${progress === '0' ? '' : `, ${progress} %`}`)
}

const STATES: Readonly<Record<string, string>> = {
  reserved: 'about to be started',
  installing: 'its engine is being installed',
  staging: 'its files are being fetched',
  loading: 'being loaded',
}

function brokenOff(error: unknown): AppError {
  return new AppError('unavailable', 'The answer broke off: the connection was lost.', { cause: error })
}
