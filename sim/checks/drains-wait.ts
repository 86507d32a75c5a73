import type { Cluster } from '../cluster.ts'
import type { Check } from './check.ts'

/** Workers of the simulator let requests finish for 30 s, and this check sees that one drains up to 5 s late, at any pace. */
const DRAINED_MS = 25_000
const LOOK_MS = 5000

/** A replica that is to go lets its requests finish: its engine is told to end when none is left, or when their time is over. */
export function drainsWait({ queue, busyEngines }: Cluster): Check {
  let drainingMs = new Map<string, number>()
  const look = (): void => {
    const before = drainingMs
    drainingMs = new Map()
    for (const [engine, { worker }] of busyEngines) {
      const { spec, calls } = engine
      if (calls.size === 0) busyEngines.delete(engine)
      else if (worker?.supervisor?.find(spec.id)?.state === 'draining') {
        drainingMs.set(spec.id, before.get(spec.id) ?? queue.nowMs)
      }
    }
    queue.after(LOOK_MS, look)
  }
  queue.after(LOOK_MS, look)
  return {
    name: 'draining (running requests finish)',
    onToldToEnd({ name, worker }, { spec, calls }) {
      const replica = worker?.supervisor?.find(spec.id)
      // One that has failed by its worker's judgement has nothing to finish.
      if (calls.size === 0 || !replica || replica.state === 'failed') return undefined
      const sinceMs = drainingMs.get(spec.id)
      if (sinceMs !== undefined && queue.nowMs - sinceMs >= DRAINED_MS) return undefined
      const waited = sinceMs === undefined ? 'at once' : `after ${queue.nowMs - sinceMs} ms`
      return `${spec.id} (${replica.key}) on ${name} is told to end ${waited}, with ${calls.size} requests still running`
    },
  }
}
