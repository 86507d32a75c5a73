import type { Clock } from '../../platform/run/clock.ts'
import type { Definition, Family, FamilySource, Point } from '../../platform/metrics/metrics.ts'

/** The metrics of one process in JSON, between processes. JSON has no infinity, so the last bound is null. */
interface Sheet {
  process: number
  families: (Definition & { shown: (Omit<Point, 'le'> & { le?: number | null })[] })[]
}

/** Between a gateway that is one of several processes and their parent. */
export type FigureMessage =
  | { figures: 'wanted'; id: number }
  | { figures: 'sheet'; id: number; sheet: Sheet }
  | { figures: 'sheets'; id: number; sheets: Sheet[] }

/** A process that does not answer within this is left out: the metrics of the others are better than none. */
const WITHIN_MS = 1000
/** Requests beyond this number get the metrics of one process only. */
const MOST_AT_ONCE = 16

export function isFigureMessage(message: unknown): message is FigureMessage {
  return typeof message === 'object' && message !== null && 'figures' in message
}

/**
 * The parent's part: when one process is asked, it asks all of them. They share a port, so a scrape reaches a random
 * one each time.
 */
export class FigureExchange {
  readonly #clock: Clock
  readonly #all: () => readonly Receiver[]
  readonly #rounds = new Map<number, { sheets: Sheet[]; missing: number; end: () => void }>()
  #lastRound = 0

  constructor(clock: Clock, all: () => readonly Receiver[]) {
    this.#clock = clock
    this.#all = all
  }

  hear(from: Receiver, message: FigureMessage): void {
    if (message.figures === 'wanted') this.#begin(from, message.id)
    if (message.figures !== 'sheet') return
    const round = this.#rounds.get(message.id)
    round?.sheets.push(message.sheet)
    if (round && round.sheets.length >= round.missing) round.end()
  }

  #begin(from: Receiver, id: number): void {
    if (this.#rounds.size >= MOST_AT_ONCE) return from.send({ figures: 'sheets', id, sheets: [] })
    const round = (this.#lastRound += 1)
    const all = this.#all()
    const sheets: Sheet[] = []
    const end = (): void => {
      cancel()
      if (this.#rounds.delete(round)) from.send({ figures: 'sheets', id, sheets })
    }
    const cancel = this.#clock.after(WITHIN_MS, end)
    this.#rounds.set(round, { sheets, missing: all.length, end })
    for (const child of all) child.send({ figures: 'wanted', id: round })
  }
}

interface Receiver {
  send(message: FigureMessage): void
}

export interface SiblingDeps {
  process: number
  own: FamilySource
  send: (message: FigureMessage) => void
  clock: Clock
}

/** The part of each process: sends its own metrics, and asks for those of all. */
export class SiblingFigures {
  readonly #deps: SiblingDeps
  readonly #waiting = new Map<number, (sheets: Sheet[]) => void>()
  #lastId = 0

  constructor(deps: SiblingDeps) {
    this.#deps = deps
  }

  hear(message: FigureMessage): void {
    const { process, own, send } = this.#deps
    if (message.figures === 'wanted') send({ figures: 'sheet', id: message.id, sheet: toSheet(process, own) })
    if (message.figures === 'sheets') this.#waiting.get(message.id)?.(message.sheets)
  }

  /** From all processes that answer; from this one alone when the parent does not. */
  collect(): Promise<FamilySource> {
    const { process, own, send, clock } = this.#deps
    const id = (this.#lastId += 1)
    return new Promise((resolve) => {
      const end = (sheets: Sheet[]): void => {
        cancel()
        this.#waiting.delete(id)
        resolve(together(sheets.length > 0 ? sheets : [toSheet(process, own)]))
      }
      const cancel = clock.after(2 * WITHIN_MS, () => end([]))
      this.#waiting.set(id, end)
      send({ figures: 'wanted', id })
    })
  }
}

function toSheet(process: number, own: FamilySource): Sheet {
  const families = [...own.families()].map((family) => {
    const { name, help, type, labelNames, bounds } = family
    const shown = [...family.points()].map((point) => (point.le === Infinity ? { ...point, le: null } : point))
    return { name, help, type, labelNames, bounds, shown }
  })
  return { process, families }
}

/** Merges families of one name, with a label that says which process a line is from. */
function together(sheets: readonly Sheet[]): FamilySource {
  const all = sheets.flatMap(({ process, families }) => families.map((family) => ({ ...family, process })))
  const byName = Map.groupBy(all, ({ name }) => name)
  return {
    families: () =>
      [...byName.values()].map((same): Family => {
        const { process: _process, shown: _shown, ...definition } = same[0]!
        const points = same.flatMap(({ process, shown }) =>
          shown.map(({ le, ...point }) => ({
            ...point,
            labels: [...point.labels, String(process)],
            ...(le === undefined ? {} : { le: le ?? Infinity }),
          })),
        )
        return { ...definition, labelNames: [...definition.labelNames, 'process'], points: () => points }
      }),
  }
}
