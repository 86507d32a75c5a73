import type { AskDeps } from '../../model-files/source/ask.ts'
import { httpGet, type HttpAnswer } from '../../model-files/source/http-get.ts'
import { judgeAnswer } from '../../model-files/source/judge-answer.ts'
import { connectionFailure, Interruption, persist } from '../../model-files/source/persist.ts'
import { StallWatch } from '../../model-files/source/stall-watch.ts'
import type { Wanted } from '../../model-files/source/wanted.ts'
import { AppError } from '../../platform/errors.ts'
import type { Bandwidth } from './bandwidth.ts'
import type { Head, Part } from './store/part.ts'
import type { Reservation, Space } from './store/space.ts'

export interface TransferDeps extends AskDeps {
  bandwidth: Bandwidth
  space: Space
  /** How many bytes are written between two checks of the free disk space. */
  checkEveryBytes: number
}

/**
 * Fetches the missing bytes of a file, in as many tries as it takes. `onBytes` gets the number that has arrived, and is
 * called with 0 when the part was changed without new bytes.
 */
export async function transfer(
  wanted: Wanted,
  part: Part,
  deps: TransferDeps,
  signal: AbortSignal,
  onBytes: (arrived: number) => void,
): Promise<void> {
  const reached = (): number => part.doneBytes
  await persist(wanted.label, deps, signal, reached, async (attempt) => {
    if (part.isComplete) return
    const watch = new StallWatch(deps.clock, deps.stallMs, signal)
    try {
      const located = await wanted.locate(attempt, signal)
      const answer = await watch.during(
        httpGet({ ...located, reach: deps.reach, headers: part.rangeHeaders, signal: watch.signal }),
      )
      try {
        await take(answer, wanted, part, deps, watch, onBytes)
      } finally {
        answer.body.destroy()
      }
    } catch (error) {
      throw connectionFailure(wanted.label, error)
    }
  })
}

async function take(
  answer: HttpAnswer,
  wanted: Wanted,
  part: Part,
  deps: TransferDeps,
  watch: StallWatch,
  onBytes: (arrived: number) => void,
): Promise<void> {
  const head = await begin(answer, wanted, part, deps.clock.nowMs())
  await part.describe(head)
  onBytes(0)
  if (part.isComplete) return
  const unforeseen = new Map<string, number>()
  // The caller did not know the size, and so has reserved no room.
  if (wanted.size === undefined && head.size !== null) unforeseen.set(wanted.path, head.size - part.doneBytes)
  const { space } = deps
  const fetch = (): Promise<void> =>
    space.withRoom(wanted.label, unforeseen, (reservation) =>
      receive(answer, wanted, part, deps, watch, onBytes, reservation),
    )
  if (wanted.size === undefined && head.size === null) await space.withoutLength(wanted.label, fetch)
  else await fetch()
}

/** Checks what the server offers and makes the part match it. Throws when the offer cannot be used. */
async function begin(answer: HttpAnswer, wanted: Wanted, part: Part, nowMs: number): Promise<Head> {
  const { status, headers } = answer
  const range = /^bytes (?:(\d+)-\d+|\*)\/(\d+|\*)$/.exec(headers['content-range'] ?? '')
  const rangeTotal = range && range[2] !== '*' ? Number(range[2]) : null
  // The part is complete; only its size was unknown.
  if (status === 416 && part.doneBytes > 0 && rangeTotal === part.doneBytes) return { ...part.head, size: rangeTotal }
  if (status === 416 && part.doneBytes > 0) return changed(part)
  if (status !== 200 && status !== 206) return judgeAnswer(answer, wanted.label, nowMs)
  if ((headers['content-encoding'] ?? 'identity') !== 'identity') {
    throw new AppError(
      'bad_gateway',
      `Cannot fetch ${wanted.label}: the server sends it compressed, which was not asked for.`,
    )
  }
  const etag = headers.etag ?? null
  const lastModified = headers['last-modified'] ?? null
  if (status === 206) {
    const total = rangeTotal ?? part.totalBytes
    const isSame = (part.head.etag ?? etag) === (etag ?? part.head.etag) && (part.totalBytes ?? total) === total
    if (Number(range?.[1]) !== part.doneBytes || !isSame) return changed(part)
    return sized(wanted, { etag, last_modified: lastModified, size: total })
  }
  // The server does not support ranges, or has another file now: start from the beginning.
  if (part.doneBytes > 0) await part.restart()
  const length = headers['content-length']
  return sized(wanted, { etag, last_modified: lastModified, size: length === undefined ? null : Number(length) })
}

async function changed(part: Part): Promise<never> {
  await part.restart()
  throw new Interruption('the file has changed on the server')
}

function sized(wanted: Wanted, head: Head): Head {
  if (wanted.size === undefined || head.size === null || head.size === wanted.size) return head
  const numbers = `it was announced with ${wanted.size} bytes and has ${head.size}`
  throw new AppError('bad_gateway', `Cannot fetch ${wanted.label}: ${numbers}. If it has just been changed, try again.`)
}

async function receive(
  answer: HttpAnswer,
  wanted: Wanted,
  part: Part,
  deps: TransferDeps,
  watch: StallWatch,
  onBytes: (arrived: number) => void,
  reservation: Reservation,
): Promise<void> {
  const { space, bandwidth } = deps
  let uncheckedBytes = 0
  for await (const chunk of chunksOf(answer, watch)) {
    const total = part.totalBytes
    if (total !== null && part.doneBytes + chunk.length > total) {
      throw new AppError(
        'bad_gateway',
        `Cannot fetch ${wanted.label}: the server sends more than the ${total} bytes it has.`,
      )
    }
    await append(part, chunk, wanted, space)
    if (wanted.size === undefined && total !== null) reservation.set(wanted.path, total - part.doneBytes)
    onBytes(chunk.length)
    uncheckedBytes += chunk.length
    if (uncheckedBytes >= deps.checkEveryBytes) {
      await space.check(wanted.label)
      uncheckedBytes = 0
    }
    await bandwidth.take(chunk.length, watch.signal)
  }
  const total = part.totalBytes
  if (!answer.body.complete || (total !== null && part.doneBytes < total)) {
    throw new Interruption(`the connection ended after ${part.doneBytes} of ${total ?? 'unknown'} bytes`)
  }
}

/**
 * Each piece as it arrives. When the connection breaks, it also yields the bytes that were received and not read yet:
 * Node drops those.
 */
async function* chunksOf({ body }: HttpAnswer, watch: StallWatch): AsyncGenerator<Buffer, void> {
  const chunks = (body as AsyncIterable<Buffer>)[Symbol.asyncIterator]()
  try {
    for (;;) {
      const next = await watch.during(chunks.next())
      if (next.done) return
      yield next.value
    }
  } catch (error) {
    const rest = body.read() as Buffer | null
    if (rest !== null && !watch.signal.aborted) yield rest
    throw error
  }
}

async function append(part: Part, chunk: Buffer, wanted: Wanted, space: Space): Promise<void> {
  try {
    await part.append(chunk)
  } catch (error) {
    throw await space.explain(wanted.label, error)
  }
}
