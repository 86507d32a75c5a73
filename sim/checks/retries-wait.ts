import type { Cluster } from '../cluster.ts'
import type { Check } from './check.ts'

/** Between tries of one slot: 1 s, 2 s, 4 s … up to a minute. Written apart from src/core on purpose. */
const FIRST_WAIT_MS = 1000
const LONGEST_WAIT_MS = 60_000

/** Invariant 7: what failed to start is not tried again in the same place before its wait is over, and the waits grow. */
export function retriesWait({ store, queue }: Cluster): Check {
  /** Failures in a row of the slot that a row has, by the row's id. */
  const failures = new Map<string, number>()
  return {
    name: 'retries (invariant 7)',
    onCommit({ inserted, moved }) {
      const gone = moved.filter(({ before, after }) => !after && before.state === 'failed').map(({ before }) => before)
      let problem: string | undefined
      for (const { id, nodeId, modelName, index, revision } of inserted) {
        // Only what is removed to be tried again comes back in the very same commit, in its own slot if that is free.
        const here = gone.filter(
          (one) => one.nodeId === nodeId && one.modelName === modelName && one.revision === revision,
        )
        const before = here.find((one) => one.index === index) ?? here[0]
        if (!before) continue
        gone.splice(gone.indexOf(before), 1)
        const times = failures.get(before.id) ?? 1
        failures.set(id, times)
        const waitedMs = queue.nowMs - before.sinceMs
        if (waitedMs >= Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (times - 1))) continue
        const place = `${modelName}#${index} on ${store.mirror.nodes.get(nodeId)?.name}`
        problem ??= `${place} is tried again ${waitedMs} ms after it failed, ${times} times in a row`
      }
      for (const { before, after } of moved) {
        if (!after) failures.delete(before.id)
        else if (after.state === 'failed') failures.set(after.id, (failures.get(after.id) ?? 0) + 1)
        else if (after.state === 'ready') failures.delete(after.id)
      }
      return problem
    },
  }
}
