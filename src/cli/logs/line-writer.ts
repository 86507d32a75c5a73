import { viewOf, type Client } from '../client.ts'
import type { Look } from '../terminal/style.ts'
import { pad, plain, widthOf } from '../terminal/text-width.ts'
import type { NodeLine } from './read.ts'

export interface LineWriter {
  write(lines: readonly NodeLine[]): void
  /** From now on lines name their node. */
  nameNodes(): void
}

/** Replicas are told apart by these, in the order in which they come. */
const KEY_LOOKS: readonly Look[] = ['cyan', 'green', 'magenta', 'blue', 'yellow']
/** Columns grow with what stands in them, up to this many characters. */
const WIDEST = 32

/** Prints lines of logs, each with its time, replica and, when there are several, node; as JSON one object a line. */
export function lineWriter(client: Client): LineWriter {
  const looks = new Map<string, Look>()
  const widths = { key: 0, node: 0 }
  let withNodes = false

  const text = ({ node, line }: NodeLine): string => {
    const { paint, nowMs } = viewOf(client)
    const isError = line.stream === 'stderr'
    const parts = [
      paint('dim', timeText(line.at, nowMs)),
      paint(lookOf(looks, line.replica), pad(plain(line.replica), widths.key)),
      ...(withNodes ? [pad(plain(node.name), widths.node)] : []),
      // Engines write all kinds of things to stderr, so only the mark is coloured.
      paint(isError ? 'red' : 'dim', isError ? '!' : '|'),
      plain(line.text),
    ]
    return parts.join(' ').trimEnd()
  }

  return {
    nameNodes: () => void (withNodes = true),
    write(lines) {
      if (lines.length === 0) return
      for (const { node, line } of lines) {
        widths.key = Math.max(widths.key, Math.min(WIDEST, widthOf(plain(line.replica))))
        widths.node = Math.max(widths.node, Math.min(WIDEST, widthOf(plain(node.name))))
      }
      const toText = client.json
        ? ({ node, line }: NodeLine): string => JSON.stringify({ node: node.name, ...line })
        : text
      client.terminal.print(lines.map(toText).join('\n'))
    },
  }
}

function lookOf(looks: Map<string, Look>, key: string): Look {
  const look = looks.get(key) ?? KEY_LOOKS[looks.size % KEY_LOOKS.length]!
  looks.set(key, look)
  return look
}

/** `14:03:07.042`, by the clock on this wall; of another day with its date before it. */
export function timeText(atMs: number, nowMs: number): string {
  const at = new Date(atMs)
  const two = (number: number): string => String(number).padStart(2, '0')
  const time = [at.getHours(), at.getMinutes(), at.getSeconds()].map(two).join(':')
  const isToday = at.toDateString() === new Date(nowMs).toDateString()
  const day = isToday ? '' : `${two(at.getMonth() + 1)}-${two(at.getDate())} `
  return `${day}${time}.${String(at.getMilliseconds()).padStart(3, '0')}`
}
