import { logLine, type LogLine, type NodeView } from '../../api/admin/schemas.ts'
import { sleep } from '../../platform/run/clock.ts'
import { AppError } from '../../platform/errors.ts'
import type { Client } from '../client.ts'
import { counted, firstSentence } from '../terminal/format.ts'
import { plain } from '../terminal/text-width.ts'
import type { LineWriter } from './line-writer.ts'
import { placedReplica } from '../replica-target.ts'
import type { Located } from './locate.ts'
import { MOST_LINES, type LogRange } from './range.ts'

const RETRY_MS = 2000
/** How often to look whether other nodes have got a replica. */
const JOIN_MS = 3000

export interface Following extends Located {
  range: LogRange
  /** The last line seen of each node. */
  seen: ReadonlyMap<string, number>
  /** Nodes that may join later; undefined for any. */
  scope: readonly NodeView[] | undefined
  writer: LineWriter
  signal: AbortSignal
}

/** Prints lines as they come, from all nodes at once, until `signal`. Fails only when continuing is pointless. */
export async function followLogs(client: Client, following: Following): Promise<void> {
  const broken = new AbortController()
  const signal = AbortSignal.any([following.signal, broken.signal])
  const followed = new Map<string, Promise<void>>()
  const join = (node: NodeView): void => {
    if (followed.size === 1) following.writer.nameNodes()
    const task = followNode(client, { ...following, signal }, node)
    followed.set(
      node.id,
      task.catch((error: unknown) => broken.abort(error)),
    )
  }
  for (const node of following.nodes) join(node)
  while (!signal.aborted) {
    await sleep(client.clock, JOIN_MS, signal)
    for (const node of await newcomers(client, following, followed, signal)) {
      client.terminal.note(`${plain(node.name)} has a replica of it now.`)
      join(node)
    }
  }
  await Promise.all(followed.values())
  if (broken.signal.aborted) throw broken.signal.reason
}

async function newcomers(
  { api }: Client,
  { target, scope }: Following,
  followed: ReadonlyMap<string, unknown>,
  signal: AbortSignal,
): Promise<NodeView[]> {
  if (signal.aborted) return []
  try {
    const replicas = (await api.call('listReplicas', {}, undefined, signal)).map(placedReplica)
    const ids = new Set(replicas.filter(target.matches).map(({ nodeId }) => nodeId))
    if ([...ids].every((id) => followed.has(id))) return []
    const nodes = scope ?? (await api.call('listNodes', {}, undefined, signal))
    return nodes.filter(({ id }) => ids.has(id) && !followed.has(id))
  } catch (error) {
    if (error instanceof AppError) return []
    throw error
  }
}

async function followNode(client: Client, following: Following, node: NodeView): Promise<void> {
  const { target, range, writer, signal } = following
  const { terminal, clock } = client
  const name = plain(node.name)
  let lastSeq = following.seen.get(node.id)
  let isLost = false
  while (!signal.aborted) {
    // A node that was not read before shows what it has, as the others did.
    const from = lastSeq === undefined ? { limit: String(range.lines || MOST_LINES) } : { after: String(lastSeq) }
    const params = { id: node.id, key: target.name, follow: '1', ...from, ...range.filter }
    try {
      const events = await client.api.follow('readLogs', params, signal)
      if (isLost) terminal.note(`${name} is back.`)
      isLost = false
      for await (const { event, data } of events) {
        const line = logLine.safeParse(data).success ? (data as LogLine) : undefined
        if (event === 'skipped') terminal.note(`${name}: ${skippedText(data)} before they could be read.`)
        if (event !== 'message' || !line) continue
        lastSeq = line.seq
        writer.write([{ node, line }])
        await untilTaken(client, signal)
      }
      if (!signal.aborted) lose(new AppError('unavailable', 'The stream ended'))
    } catch (error) {
      if (!signal.aborted) lose(error)
    }
    await sleep(clock, RETRY_MS, signal)
  }

  function lose(error: unknown): void {
    if (!(error instanceof AppError) || error.code === 'unauthorized' || error.code === 'bad_request') throw error
    // A replica that was placed a moment ago has no log yet.
    if (error.code === 'not_found' || isLost) return
    isLost = true
    terminal.note(`${name}: ${firstSentence(error.message)}. Trying again every ${RETRY_MS / 1000} s.`)
  }
}

/** A slow reader of stdout gets the next lines later: nothing is buffered here, and the node does not wait. */
async function untilTaken({ terminal }: Client, signal: AbortSignal): Promise<void> {
  const taken = terminal.taken?.()
  if (!taken || signal.aborted) return
  const ended = new AbortController()
  await Promise.race([taken, new Promise((resolve) => signal.addEventListener('abort', resolve, ended))])
  ended.abort()
}

/** Logs keep so many lines of a replica and no more. */
function skippedText(data: unknown): string {
  const { lines } = (data ?? {}) as { lines?: unknown }
  return typeof lines === 'number'
    ? `${counted(lines, 'line')} ${lines === 1 ? 'was' : 'were'} dropped`
    : 'lines were dropped'
}
