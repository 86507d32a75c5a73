import type { Operation } from './operation.ts'
import type { BackendView, NodeView } from '../../api/admin/schemas.ts'
import { sleep } from '../../platform/run/clock.ts'
import { AppError } from '../../platform/errors.ts'
import { atNodes, jsonAt, type AtNode } from '../at-nodes.ts'
import { INTERRUPTED, show, viewOf, type Client } from '../client.ts'
import { tellProgress } from './operation-progress.ts'
import { outcomeLines } from './outcome.ts'

const POLL_MS = 1000
/** After this many failed polls a node is given up; its operation continues, unobserved. */
const MOST_MISSES = 30

/** Runs an operation on an engine at several nodes at once, and waits for its end unless told otherwise. */
export async function operate(
  client: Client,
  nodes: readonly NodeView[],
  operation: Operation,
  wait: boolean,
): Promise<number> {
  // Registered at the beginning: Ctrl-C ends the waiting, never the operation.
  const interrupted = wait ? client.terminal.interrupted() : undefined
  const begun = await atNodes(nodes, operation.begin)
  const ended = interrupted ? await waitForAll(client, operation, begun, interrupted) : begun
  if (!ended) {
    client.terminal.note(`No longer waiting; it goes on. flotilla engines${client.sameCluster} shows how far it is.`)
    return INTERRUPTED
  }
  const json = jsonAt(ended, (engine) => engine)
  show(client, json, () => ended.flatMap((one) => outcomeLines(one, operation, viewOf(client))))
  return ended.every(({ error }) => !error) ? 0 : 1
}

/** Undefined when it was interrupted. */
async function waitForAll(
  client: Client,
  { engine, kind }: Operation,
  begun: readonly AtNode<BackendView>[],
  interrupted: AbortSignal,
): Promise<AtNode<BackendView>[] | undefined> {
  const { terminal, clock, json } = client
  const tell = json ? () => {} : tellProgress(terminal)
  let all = begun.map((one) => ({
    now: settle(one, one.reply?.operation?.id),
    id: one.reply?.operation?.id,
    misses: 0,
  }))
  const isRunning = ({ now }: (typeof all)[number]): boolean => now.reply?.operation?.state === 'running'
  while (all.some(isRunning)) {
    tell(
      all.filter(isRunning).map(({ now }) => ({ node: now.node, engine: now.reply! })),
      kind,
    )
    await sleep(clock, POLL_MS, interrupted)
    if (interrupted.aborted) {
      terminal.live('')
      return undefined
    }
    const asked = await atNodes(
      all.filter(isRunning).map(({ now }) => now.node),
      ({ id }) => look(client, id, engine, interrupted),
    )
    all = all.map((one) => {
      const answer = asked.find(({ node }) => node === one.now.node)
      if (!answer) return one
      if (!answer.error) return { ...one, now: settle(answer, one.id), misses: 0 }
      const misses = one.misses + 1
      return { ...one, misses, now: misses < MOST_MISSES ? one.now : answer }
    })
  }
  if (!json) terminal.live('')
  return all.map(({ now }) => now)
}

async function look({ api }: Client, id: string, name: string, signal: AbortSignal): Promise<BackendView> {
  const engines = await api.call('listBackends', { id }, undefined, signal)
  const found = engines.find((engine) => engine.name === name)
  if (found) return found
  throw new AppError('not_found', `${name} is no longer among the engines of the node.`)
}

/**
 * A failed operation is a failure; so is another operation in its place, because the result of ours is then unknown.
 */
function settle(one: AtNode<BackendView>, id: string | undefined): AtNode<BackendView> {
  const { node, reply } = one
  if (!reply) return one
  const { operation, state } = reply
  if (operation?.id !== id) {
    const text = `another operation has begun meanwhile, so how this one ended is not known; it is ${state} now`
    return { node, error: new AppError('conflict', `${text}.`) }
  }
  if (operation?.state !== 'failed') return one
  const details = { stopped: operation.stopped }
  return { node, error: new AppError('internal', operation.error ?? 'the node gave no reason', { details }) }
}
