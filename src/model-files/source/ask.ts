import { httpGet, type HttpAnswer, type HttpGet } from './http-get.ts'
import { judgeAnswer } from './judge-answer.ts'
import { connectionFailure, Interruption, persist, type Persistence } from './persist.ts'
import type { Reach } from './reach.ts'
import { StallWatch } from './stall-watch.ts'

export interface AskDeps extends Persistence {
  stallMs: number
  /** Where sources may point to; the public internet only, if undefined. */
  reach?: Reach | undefined
}

type Question = Omit<HttpGet, 'signal' | 'reach'>

const MOST_ANSWER_BYTES = 16 * 1024 * 1024

/** Repeats the request until `take` can use the answer; `take` may throw an Interruption to have it repeated. */
export function ask<T>(
  label: string,
  deps: AskDeps,
  signal: AbortSignal,
  question: (attempt: number) => Promise<Question>,
  take: (answer: HttpAnswer) => Promise<T>,
): Promise<T> {
  return persist(
    label,
    deps,
    signal,
    () => 0,
    async (attempt) => {
      const watch = new StallWatch(deps.clock, deps.stallMs, signal)
      try {
        const get = await question(attempt)
        const answer = await watch.during(httpGet({ ...get, reach: deps.reach, signal: watch.signal }))
        try {
          return await watch.during(take(answer))
        } finally {
          answer.body.destroy()
        }
      } catch (error) {
        throw connectionFailure(label, error)
      }
    },
  )
}

/** The JSON of an answer; throws for any status but 200. */
export async function jsonOf(answer: HttpAnswer, label: string, nowMs: number): Promise<unknown> {
  if (answer.status !== 200) judgeAnswer(answer, label, nowMs)
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of answer.body as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > MOST_ANSWER_BYTES) throw new Interruption('the answer is too long')
    chunks.push(chunk)
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8')) as unknown
  } catch {
    throw new Interruption('the answer is not JSON')
  }
}
