import { RUN_PATH } from '../../api/data-port.ts'
import { runOf } from '../../api/node-run.ts'
import { AppError } from '../../platform/errors.ts'
import { recordRefusedRun } from '../../store/nouns/node-runs.ts'
import { hasSaidGoodbye, type NodeRow } from '../../store/nouns/nodes.ts'
import { askDataPort } from '../workers/data-port.ts'
import { change, type ChangeDeps } from '../changes/change.ts'
import type { AdminDeps } from '../api/deps.ts'

/** How long a registering worker waits for the probe of the other run: a machine that is gone does not answer at all. */
const PROBE_WITHIN_MS = 2000

/** Which run answers at a node's data port: its id, null for something that is not this node, undefined for silence. */
export type ProbeRun = (node: NodeRow) => Promise<string | null | undefined>

export type NodeRunDeps = ChangeDeps & Pick<AdminDeps, 'clock' | 'clusterSecret'> & { probeRun?: ProbeRun | undefined }

export interface Newcomer {
  run: string | null
  bootId: string
  address: string
}

/**
 * When two processes have the key of one node, as after cloning a machine, the first one is kept. Throws `conflict` when
 * another run of `node` registered last and is still connected. The newcomer takes its place when that run
 *
 * - said goodbye, or was never approved;
 * - does not answer at its data port, where another run does: the worker was started again;
 * - does not answer, and the newcomer is of the same boot, so of the same machine; or
 * - does not answer, and has missed several heartbeats.
 */
export async function refuseSecondRun(deps: NodeRunDeps, node: NodeRow, newcomer: Newcomer): Promise<void> {
  const { run_id: first, approved_at: approvedAt } = node
  if (first === null || first === newcomer.run || approvedAt === null || hasSaidGoodbye(node)) return
  const answers = await (deps.probeRun ?? ((one) => probeRun(deps, one)))(node)
  const isConnected =
    answers === undefined ? node.liveness === 'online' && node.boot_id !== newcomer.bootId : answers === first
  if (!isConnected) return
  await change(deps, async (tx, tell) => {
    const run = newcomer.run ?? 'unknown'
    if (!(await recordRefusedRun(tx, node.id, { run, address: newcomer.address }))) return
    const reason = `a second process with the key of ${node.name}, at ${newcomer.address}, was refused: ${node.name} is connected from ${node.address}`
    const data = { address: node.address, refused_address: newcomer.address }
    await tell({ actor: 'control', action: 'node.duplicate', nodeId: node.id, reason, data })
  })
  throw new AppError(
    'conflict',
    `${node.name} is already connected from ${node.address}, and this process, at ${newcomer.address}, has the same key (node.seed). If the machine was cloned, delete node.seed in the data folder of one of the two and start it again.`,
    { details: { run: 'second' } },
  )
}

/** Throws when another run has registered since `refuseSecondRun` looked. */
export function checkSameRun(node: NodeRow, lookedAt: NodeRow | undefined, run: string | null): void {
  if (node.run_id === null || node.run_id === run || node.run_id === lookedAt?.run_id) return
  throw new AppError('unavailable', `Another process has just registered as ${node.name}. Try again.`)
}

/** Asked for its credentials by a run that is not the one that registered last. */
export function otherRun({ name }: Pick<NodeRow, 'name'>): AppError {
  const text = `Another process has registered as ${name} since. Register again.`
  return new AppError('conflict', text, { details: { run: 'other' } })
}

async function probeRun(deps: NodeRunDeps, node: NodeRow): ReturnType<ProbeRun> {
  // An agent has no data port.
  if (node.node_type === 'agent') return undefined
  try {
    const answer = await askDataPort(deps, node, RUN_PATH, AbortSignal.timeout(PROBE_WITHIN_MS))
    answer.destroy()
    return runOf(answer)
  } catch (error) {
    return error instanceof AppError && error.details['key'] === 'refused' ? null : undefined
  }
}
