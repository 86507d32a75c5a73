import type { NodeView } from '../../api/admin/schemas.ts'
import type { PullReport } from '../../api/reports.ts'
import { formatBytes } from '../../core/lib/bytes.ts'
import { sleep } from '../../platform/run/clock.ts'
import { AppError } from '../../platform/errors.ts'
import { atNodes, jsonAt, type AtNode } from '../at-nodes.ts'
import { INTERRUPTED, show, viewOf, type Act, type Client, type View } from '../client.ts'
import { findNamed } from '../find-one.ts'
import { nodesOrTheOne } from '../node-scope.ts'
import { plain } from '../terminal/text-width.ts'
import { wrap } from '../terminal/wrap.ts'
import { pullTeller } from './pull-progress.ts'

const POLL_MS = 500
/** After this many failed polls a node is given up; its transfer continues, unobserved. */
const MOST_MISSES = 60

/** Has nodes fetch the files of a model, and shows how far they are. */
export const pull: Act = async (client, given) => {
  const { name } = findNamed('model', given.values[0]!, await client.api.call('listModels'))
  const nodes = await nodesOrTheOne(client, given, 'models pull')
  // Registered at the beginning: Ctrl-C ends the waiting, never the transfer.
  const interrupted = client.terminal.interrupted()
  const ended = await untilEnded(client, name, nodes, interrupted)
  if (!ended) {
    client.terminal.note(
      'No longer waiting; the files are still being fetched. The same command shows how far they are.',
    )
    return INTERRUPTED
  }
  const json = jsonAt(ended, (report) => report)
  show(client, json, () => ended.flatMap((one) => outcome(one, name, viewOf(client))))
  return ended.every(({ error }) => !error) ? 0 : 1
}

/** Undefined when it was interrupted. */
async function untilEnded(
  { api, terminal, clock, json }: Client,
  name: string,
  nodes: readonly NodeView[],
  interrupted: AbortSignal,
): Promise<AtNode<PullReport>[] | undefined> {
  const tell = json ? () => {} : pullTeller(terminal, plain(name))
  const begun = await atNodes(nodes, ({ id }) => api.call('pullModel', { id }, { model_name: name }))
  let all = begun.map((now) => ({ now: settle(now), misses: 0 }))
  const isRunning = ({ now }: (typeof all)[number]): boolean => now.reply?.state === 'running'
  while (all.some(isRunning)) {
    const running = all.filter(isRunning).map(({ now }) => ({ node: now.node, report: now.reply! }))
    tell(running)
    await sleep(clock, POLL_MS, interrupted)
    if (interrupted.aborted) break
    const idOf = (node: NodeView): string => running.find((one) => one.node === node)!.report.id
    const asked = await atNodes(
      running.map(({ node }) => node),
      (node) => api.call('pullModel', { id: node.id }, { model_name: name, pull_id: idOf(node) }, interrupted),
    )
    if (interrupted.aborted) break
    all = all.map((one) => {
      const answer = asked.find(({ node }) => node === one.now.node)
      if (!answer) return one
      const misses = answer.error?.code === 'unavailable' ? one.misses + 1 : 0
      // A node that is away for a moment continues its transfer.
      return misses > 0 && misses < MOST_MISSES ? { ...one, misses } : { now: settle(answer), misses }
    })
  }
  if (!json) terminal.live('')
  return interrupted.aborted ? undefined : all.map(({ now }) => now)
}

/** A pull that failed is a failure of the node. */
function settle(one: AtNode<PullReport>): AtNode<PullReport> {
  if (one.reply?.state !== 'failed') return one
  return { node: one.node, error: new AppError('internal', one.reply.error ?? 'the node gave no reason') }
}

function outcome({ node, reply, error }: AtNode<PullReport>, name: string, { width, paint }: View): string[] {
  const where = plain(node.name)
  if (error) {
    const text = `${where}: the files of ${plain(name)} were not fetched: ${plain(error.message)}`
    return wrap(text, width).map((line) => paint('red', line))
  }
  const { bytes } = reply
  return [
    `${where}: ${bytes ? `has the files of ${plain(name)}, ${formatBytes(bytes)}` : `${plain(name)} needs no files`}.`,
  ]
}
