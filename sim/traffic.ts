import type { Cluster } from './cluster.ts'

const MEAN_WAIT_MS = 400
/** Clients turn to other models after about this long, and leave the rest alone meanwhile. */
const MEAN_FASHION_MS = 60_000
const IN_FASHION = 0.4

/** Clients: a request now and then, for any model in fashion, also one that does not exist any more. Returns how to end it. */
export function startTraffic({ ground, gateways }: Cluster, modelNames: readonly string[]): () => void {
  const { queue, random } = ground
  let isOn = true
  let inFashion: string[] = []
  const change = (): void => {
    inFashion = modelNames.filter(() => random.chance(IN_FASHION))
    queue.after(random.waitMs(MEAN_FASHION_MS), () => isOn && change())
  }
  const next = (): void => {
    queue.after(random.waitMs(MEAN_WAIT_MS), () => {
      if (!isOn) return
      random.oneOf(gateways)?.request(random.oneOf(inFashion) ?? random.oneOf(modelNames)!)
      next()
    })
  }
  change()
  next()
  return () => (isOn = false)
}
