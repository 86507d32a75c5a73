/** An event of a model has a few hundred bytes; a longer one than this is an error. */
const MOST_EVENT_CHARACTERS = 16 * 1024 * 1024

/** Takes server-sent events in any pieces; returns the data of each event once it is complete. */
export class EventData {
  readonly #decoder = new TextDecoder()
  #waiting = ''

  push(piece: string | Buffer): string[] {
    this.#waiting += typeof piece === 'string' ? piece : this.#decoder.decode(piece, { stream: true })
    const events = this.#waiting.split(/\r\n\r\n|\n\n/)
    this.#waiting = events.pop()!
    if (this.#waiting.length > MOST_EVENT_CHARACTERS) throw new Error('an event of the engine is too long')
    return events.map(dataOf).filter((data) => data !== '')
  }
}

function dataOf(event: string): string {
  const lines = event.split(/\r\n|\n/).filter((line) => line.startsWith('data:'))
  return lines.map((line) => line.slice('data:'.length).replace(/^ /, '')).join('\n')
}
