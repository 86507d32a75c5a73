import type { NodeView } from '../../api/admin/schemas.ts'
import { AppError } from '../../platform/errors.ts'
import { jsonAt } from '../at-nodes.ts'
import { show, viewOf, type Act, type Client, type Given } from '../client.ts'
import { nodesToRead } from '../node-scope.ts'
import { plain } from '../terminal/text-width.ts'
import { followLogs } from './follow.ts'
import { lineWriter } from './line-writer.ts'
import { renderEntries } from './list.ts'
import { listEntries, locate } from './locate.ts'
import { parseRange, type LogRange } from './range.ts'
import { readSnapshot } from './read.ts'

/** Prints the log of a replica or a model; without either, lists the logs. */
export const logs: Act = async (client, given) => {
  const [wanted] = given.values
  const range = parseRange(given.own)
  const follow = given.own.has('follow')
  if (wanted === undefined) {
    if (follow) throw new AppError('usage', 'flotilla logs: which model is to be followed?')
    return list(client, given)
  }
  if (!follow) return read(client, given, wanted, range)
  // From here on Ctrl-C is the expected end, not a failure.
  const interrupted = client.terminal.interrupted()
  try {
    return await read(client, given, wanted, range, interrupted)
  } catch (error) {
    if (interrupted.aborted) return 0
    throw error
  }
}

async function list(client: Client, given: Given): Promise<number> {
  const entries = await listEntries(client, await nodesToRead(client, given))
  const json = jsonAt(entries, (models) => ({ models }))
  return show(client, json, () => renderEntries(entries, viewOf(client)))
}

/** With a signal it follows until that. */
async function read(
  client: Client,
  given: Given,
  wanted: string,
  range: LogRange,
  signal?: AbortSignal,
): Promise<number> {
  const scope = await nodesToRead(client, given)
  const located = await locate(client, wanted, scope, { follow: signal !== undefined, signal })
  refuseAfter(range, located.nodes)
  const writer = lineWriter(client)
  if (located.nodes.length > 1) writer.nameNodes()
  const snapshot = await readSnapshot(client, located, range, signal)
  writer.write(snapshot.lines)
  if (signal) {
    const joining = given.lists.has('node') ? scope : undefined
    await followLogs(client, { ...located, range, seen: snapshot.seen, scope: joining, writer, signal })
    return 0
  }
  if (snapshot.lines.length === 0) client.terminal.note(whyNothing(wanted, range))
  return snapshot.isPartial ? 1 : 0
}

/** Each node numbers its lines by itself. */
function refuseAfter({ after }: LogRange, nodes: readonly NodeView[]): void {
  if (after === undefined || nodes.length < 2) return
  const names = nodes.map(({ name }) => plain(name)).join(' or ')
  throw new AppError('usage', `flotilla logs: each node numbers its lines by itself: add --node ${names} to --after.`)
}

function whyNothing(wanted: string, { lines, after, filter }: LogRange): string {
  const isNarrow = lines === 0 || after !== undefined || Object.keys(filter).length > 0
  return isNarrow
    ? `No line of ${plain(wanted)} is like what was asked for.`
    : `${plain(wanted)} has not written a line yet.`
}
