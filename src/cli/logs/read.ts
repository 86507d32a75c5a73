import type { LogLine, NodeView } from '../../api/admin/schemas.ts'
import { atNodes } from '../at-nodes.ts'
import type { Client } from '../client.ts'
import { plain } from '../terminal/text-width.ts'
import type { Located } from './locate.ts'
import { MOST_LINES, type LogRange } from './range.ts'

/** A line and the node that has it. */
export interface NodeLine {
  node: NodeView
  line: LogLine
}

export interface Snapshot {
  /** Merged by time. */
  lines: NodeLine[]
  /** The number of the last line of each node that answered: what follows comes after it. */
  seen: Map<string, number>
  /** Some node did not answer; a message was printed. */
  isPartial: boolean
}

/** The lines there are now, of all nodes. Fails when no node answers. */
export async function readSnapshot(
  client: Client,
  { target, nodes }: Located,
  range: LogRange,
  signal: AbortSignal | undefined,
): Promise<Snapshot> {
  // Even if no line is wanted, one is read for its number.
  const limit = String(Math.max(1, range.lines ?? MOST_LINES))
  const after = range.after === undefined ? {} : { after: String(range.after) }
  const asked = await atNodes(nodes, async ({ id }) => {
    const params = { id, key: target.name, limit, ...after, ...range.filter }
    return (await client.api.call('readLogs', params, undefined, signal)).lines
  })
  // A replica that was placed a moment ago has no log yet.
  const failed = asked.filter(({ error }) => error && error.code !== 'not_found')
  if (failed.length > 0 && failed.length === asked.length) throw failed[0]!.error!
  for (const { node, error } of failed) client.terminal.note(`${plain(node.name)}: ${error!.message}`)
  const read = asked.filter((one) => !failed.includes(one)).map(({ node, reply = [] }) => ({ node, lines: reply }))
  return {
    lines: cut(mergeByTime(read), range),
    seen: new Map(read.map(({ node, lines }) => [node.id, lines.at(-1)?.seq ?? range.after ?? 0])),
    isPartial: failed.length > 0,
  }
}

/** The lines of a node stay in their order, even where its clock was set back. */
export function mergeByTime(read: readonly { node: NodeView; lines: readonly LogLine[] }[]): NodeLine[] {
  const timed = read.flatMap(({ node, lines }) => {
    let atMs = 0
    return lines.map((line) => ({ node, line, atMs: (atMs = Math.max(atMs, line.at)) }))
  })
  return timed.toSorted((a, b) => a.atMs - b.atMs).map(({ node, line }) => ({ node, line }))
}

/** The last ones; after a certain line the next ones. */
function cut(lines: NodeLine[], { lines: most, after }: LogRange): NodeLine[] {
  if (most === undefined) return lines
  return after === undefined ? lines.slice(Math.max(0, lines.length - most)) : lines.slice(0, most)
}
