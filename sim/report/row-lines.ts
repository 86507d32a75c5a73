import type { Commit, StoreMirror } from '../ground/store-mirror.ts'
import type { Trace } from './trace.ts'

/** Says what a commit did to replicas and nodes, for people. */
export function tellRows({ who, inserted, moved, nodes }: Commit, mirror: StoreMirror, trace: Trace): void {
  const nameOf = (nodeId: string): string => mirror.nodes.get(nodeId)?.name ?? nodeId
  for (const { id, modelName, index, nodeId, revision } of inserted) {
    trace.add(who.name, `places ${id} = ${modelName}#${index} on ${nameOf(nodeId)}, revision ${revision}`)
  }
  for (const { before, after } of moved) {
    const { id, modelName, index, nodeId, state } = before
    trace.add(who.name, `${id} (${modelName}#${index} on ${nameOf(nodeId)}): ${state} -> ${after?.state ?? 'gone'}`)
  }
  for (const { before, after } of nodes) {
    if (!after) trace.add(who.name, `${before?.name} is no node any more`)
    else if (before && before.liveness !== after.liveness) {
      trace.add(who.name, `${after.name} (${after.id}): ${before.liveness} -> ${after.liveness}`)
    }
  }
}
