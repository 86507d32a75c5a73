import type { Clock } from '../../platform/run/clock.ts'
import { embedRecord, hear, lastRecord, nothingHeard, pieceRecord, type AnswerKind, type Times } from './from-openai.ts'
import type { Translation } from './translated-response.ts'

export interface Measured {
  startMs: number
  loadMs: number
  clock: Pick<Clock, 'nowMs'>
}

const NOTHING = { content: '', thinking: '' }

/** Translates an answer that is text. */
export function answerTranslation(kind: AnswerKind, model: string, measured: Measured): Translation {
  const heard = nothingHeard()
  let firstMs: number | undefined
  return {
    onEvent(event) {
      const said = hear(heard, event)
      if (said.content === '' && said.thinking === '') return []
      const nowMs = measured.clock.nowMs()
      firstMs ??= nowMs
      return [pieceRecord(kind, model, said, nowMs)]
    },
    onEnd: () => [lastRecord(kind, model, heard, NOTHING, timesOf(measured, firstMs))],
    onWhole(answer) {
      const said = hear(heard, answer)
      // The time of the first word is unknown, so all of the time counts for the answer.
      return lastRecord(kind, model, heard, said, timesOf(measured, measured.startMs + measured.loadMs))
    },
  }
}

/** Translates vectors, which never come as a stream. */
export function embedTranslation(
  model: string,
  measured: Measured,
  toRecord = (answer: unknown): object => embedRecord(model, answer, timesOf(measured, undefined)),
): Translation {
  return { onEvent: () => [], onEnd: () => [], onWhole: toRecord }
}

function timesOf({ startMs, loadMs, clock }: Measured, firstMs: number | undefined): Times {
  return { startMs, loadMs, firstMs, nowMs: clock.nowMs() }
}
