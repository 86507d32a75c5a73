import type { Shortcut, ShortLane } from '../../../src/http/fast/path/fast-path.ts'

/** Counts how many requests take the shortcut, are answered on it, and become ordinary ones on their way. */
export class CountedShortcut {
  taken = 0
  answered = 0
  lengthened = 0
  /** Of those that were lengthened, whose client had the beginning of the answer before. */
  begun = 0

  readonly around = (shortcut: Shortcut | undefined): Shortcut | undefined =>
    shortcut && {
      know: (request) => shortcut.know(request),
      take: (known, bytes, head, lane) => {
        const exchange = shortcut.take(known, bytes, head, this.#countedLane(lane))
        if (exchange) this.taken += 1
        return exchange
      },
    }

  counts(): { taken: number; answered: number; lengthened: number } {
    const { taken, answered, lengthened } = this
    return { taken, answered, lengthened }
  }

  #countedLane(lane: ShortLane): ShortLane {
    return {
      isLocal: lane.isLocal,
      get keepS() {
        return lane.keepS
      },
      answerShort: (head, bytes, bodyAt, isLast) => {
        this.answered += 1
        lane.answerShort(head, bytes, bodyAt, isLast)
      },
      beginShort: (head, bytes, bodyAt) => {
        this.begun += 1
        lane.beginShort(head, bytes, bodyAt)
      },
      lengthen: (bytes) => {
        this.lengthened += 1
        return lane.lengthen(bytes)
      },
    }
  }
}
