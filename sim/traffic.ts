import type { Cluster } from './cluster.ts'

const MEAN_WAIT_MS = 400

/** Clients: a request now and then, for any model, also one that does not exist any more. Returns how to end it. */
export function startTraffic({ ground, gateways }: Cluster, modelNames: readonly string[]): () => void {
  const { queue, random } = ground
  let isOn = true
  const next = (): void => {
    queue.after(random.waitMs(MEAN_WAIT_MS), () => {
      if (!isOn) return
      random.oneOf(gateways)?.request(random.oneOf(modelNames)!)
      next()
    })
  }
  next()
  return () => (isOn = false)
}
