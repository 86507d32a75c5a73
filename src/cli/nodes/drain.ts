import type { NodeView } from '../../api/admin/schemas.ts'
import { sleep } from '../../platform/run/clock.ts'
import { AppError } from '../../platform/errors.ts'
import { barBefore } from '../terminal/bar.ts'
import { INTERRUPTED, show, viewOf, type Client } from '../client.ts'
import { confirm } from '../terminal/confirm.ts'
import { foreseen } from '../foreseen.ts'
import { counted, few, shellWord } from '../terminal/format.ts'
import { plain, truncate } from '../terminal/text-width.ts'
import { wrap } from '../terminal/wrap.ts'

const POLL_MS = 1000

/** Drains a node; with `wait` until nothing runs on it. First names the models that lose their last replica. */
export async function drain(client: Client, found: NodeView, own: ReadonlyMap<string, string>): Promise<number> {
  if (!(await isMeant(client, found, own))) return 1
  const wait = own.has('wait')
  const node = await client.api.call('drainNode', { id: found.id })
  if (wait) return waitUntilIdle(client, node)
  const name = plain(node.name)
  return show(client, node, () =>
    node.in_flight_count === 0
      ? [`${name} is draining; no requests are left on it.`]
      : [
          `${name} is draining; ${left(node)}.`,
          `flotilla nodes drain ${shellWord(node.name)} --wait${client.sameCluster} shows when it is done.`,
        ],
  )
}

async function isMeant(client: Client, node: NodeView, own: ReadonlyMap<string, string>): Promise<boolean> {
  if (node.desired === 'draining' || own.has('yes')) return true
  const { left, text } = await foreseen(client, { drain: [node.name] })
  const lost = left.map(({ model_name: name }) => plain(name))
  if (lost.length === 0) return true
  return confirm(client, own, {
    command: 'nodes drain',
    deed: `drain ${plain(node.name)}, which has the last replica of ${few(lost)}`,
    about: wrap(text, viewOf(client).width).join('\n'),
    question: `Drain ${plain(node.name)}?`,
    otherwise: 'Nothing was drained.',
  })
}

async function waitUntilIdle(client: Client, drained: NodeView): Promise<number> {
  const { api, terminal, clock, json } = client
  const interrupted = terminal.interrupted()
  const name = plain(drained.name)
  let shown: string | undefined
  const most = drained.in_flight_count
  const tell = (now: NodeView): void => {
    const text = whatIsLeft(now)
    const bar = terminal.interactive ? barBefore(terminal.columns, most - now.in_flight_count, most) : ''
    if (!json && text !== shown) terminal.live(truncate(`${bar}${name} is draining; ${text}`, terminal.columns - 1))
    shown = text
  }
  tell(drained)
  let node = drained
  while (!isIdle(node, drained)) {
    await sleep(clock, POLL_MS, interrupted)
    if (interrupted.aborted) {
      terminal.note(`\nNo longer waiting. ${name} keeps draining; flotilla nodes resume undoes it.`)
      return INTERRUPTED
    }
    node = await api.call('getNode', { id: drained.id })
    refuseToWait(node, name)
    if (!isIdle(node, drained)) tell(node)
  }
  if (!json) terminal.live('')
  return show(client, node, () => [`${name} is drained; no requests are left on it.`])
}

/** By a heartbeat after the drain: an older one may miss requests that arrived just before it. */
function isIdle(node: NodeView, drained: NodeView): boolean {
  return node.in_flight_count === 0 && (node.last_heartbeat ?? 0) > (drained.last_heartbeat ?? 0)
}

function whatIsLeft(node: NodeView): string {
  return node.in_flight_count === 0 ? 'waiting for its next heartbeat' : left(node)
}

function refuseToWait(node: NodeView, name: string): void {
  if (node.desired !== 'draining') throw new AppError('conflict', `${name} was resumed meanwhile; it is not drained.`)
  if (node.liveness === 'offline') {
    throw new AppError('unavailable', `${name} went offline; by its last heartbeat ${left(node)}.`)
  }
}

function left({ in_flight_count: count }: NodeView): string {
  return `${counted(count, 'request')} ${count === 1 ? 'is' : 'are'} left`
}
