import { replicaStates, type Model } from '../types.ts'
import type { Loading, ToldReplica, ToldWorld } from './types.ts'

/** The replica that has come furthest, in the words of the API; undefined when there is none. */
export function loadingOf(world: ToldWorld, model: Model, starting: readonly ToldReplica[]): Loading | undefined {
  const [best] = starting.toSorted(
    (a, b) => phaseOf(b) - phaseOf(a) || shareOf(b) - shareOf(a) || (a.id < b.id ? -1 : 1),
  )
  if (!best) return undefined
  const node = world.nodes.find(({ id }) => id === best.nodeId)?.name ?? best.nodeId
  return { ...waitingFor(model.name), state: best.state as Loading['state'], node, ...bytesOf(world, model, best) }
}

/** No node has been chosen yet. */
export function waitingFor(model: string): Loading {
  const none = { progress: 0, bytes_sent: 0, total_bytes: 0, file_index: 0, total_files: 0 }
  return { model, state: 'waiting', node: null, ...none }
}

function bytesOf(world: ToldWorld, model: Model, replica: ToldReplica): Partial<Loading> {
  const { state, progress } = replica
  if (!progress) return state === 'loading' ? allThere(world, model) : {}
  const { done_bytes: done, total_bytes: total, bytes_per_s: rate } = progress
  // Of an engine that is being installed nobody can tell how long the model will take afterwards.
  const hasRate = state === 'staging' && total !== null && rate !== null && rate > 0
  return {
    progress: percent(shareOf(replica)),
    bytes_sent: done,
    total_bytes: total ?? 0,
    file_index: progress.file_index ?? 0,
    total_files: progress.total_files ?? 0,
    ...(hasRate ? { eta_seconds: Math.ceil(Math.max(0, total - done) / rate) } : {}),
  }
}

/** The engine reads what has arrived. */
function allThere({ facts }: ToldWorld, { name, revision }: Model): Partial<Loading> {
  const bytes = facts.find((one) => one.modelName === name && one.revision === revision)?.payloadBytes
  return bytes ? { progress: 100, bytes_sent: bytes, total_bytes: bytes } : {}
}

function phaseOf({ state }: ToldReplica): number {
  return replicaStates.indexOf(state)
}

function shareOf({ progress }: ToldReplica): number {
  return progress?.total_bytes ? Math.min(1, progress.done_bytes / progress.total_bytes) : 0
}

/** Never 100 before it is whole. */
function percent(share: number): number {
  return Math.floor(100 * share)
}
