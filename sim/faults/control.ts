import type { Cluster } from '../cluster.ts'
import { calm } from '../bus.ts'
import { LEASE_TTL_MS, OFFLINE_AFTER_MS, TURN_PERIOD_MS } from '../limits.ts'

/** After a leader is gone, this much later at the latest another has taken its first turn. */
const SUCCESSION_MS = LEASE_TTL_MS + 2 * TURN_PERIOD_MS

export function killFrontend(cluster: Cluster): void {
  const name = cluster.ground.random.oneOf([...cluster.controls.keys()])
  if (name) takeDown(cluster, name, cluster.ground.random.between(500, 30_000))
}

/** Nobody leads for longer than it takes to call a node offline. What runs must not suffer from it. */
export function loseAllFrontends(cluster: Cluster): void {
  const forMs = cluster.ground.random.between(5000, 2 * OFFLINE_AFTER_MS)
  for (const name of cluster.controls.keys()) takeDown(cluster, name, forMs)
}

export function freezeFrontend(cluster: Cluster): void {
  const name = cluster.ground.random.oneOf([...cluster.controls.keys()])
  if (name) freeze(cluster, name, cluster.ground.random.between(1000, 40_000))
}

/** As a laptop whose lid was closed: all frontends stand still and go on as if nothing had been. */
export function sleepAll(cluster: Cluster): void {
  const forMs = cluster.ground.random.between(5000, 2 * OFFLINE_AFTER_MS)
  for (const name of cluster.controls.keys()) freeze(cluster, name, forMs)
}

export function stormOnBus({ ground, machines }: Cluster): void {
  const { bus, random, queue, trace, health } = ground
  const forMs = random.between(1000, 30_000)
  bus.weather = { loss: random.next() * 0.5, doubled: random.next() * 0.5, mostDelayMs: random.between(50, 8000) }
  const { weather } = bus
  bus.disturbedUntilMs = Math.max(bus.disturbedUntilMs, queue.nowMs + forMs + weather.mostDelayMs)
  trace.add('bus', `storm for ${forMs} ms: loses ${Math.round(weather.loss * 100)} %`)
  for (const { id } of machines) health.disturbNode(id, queue.nowMs + forMs + weather.mostDelayMs)
  queue.after(forMs, () => {
    if (bus.weather === weather) bus.weather = calm
  })
}

function takeDown(cluster: Cluster, name: string, forMs: number): void {
  const { queue, trace, health } = cluster.ground
  trace.add(name, `is killed and down for ${forMs} ms`)
  cluster.killFrontend(name)
  health.disturbControl(queue.nowMs + forMs + SUCCESSION_MS)
  queue.after(forMs, () => {
    if (cluster.controls.has(name)) return
    trace.add(name, 'is started')
    cluster.startFrontend(name)
  })
}

function freeze(cluster: Cluster, name: string, forMs: number): void {
  const { queue, trace, health } = cluster.ground
  trace.add(name, `stands still for ${forMs} ms`)
  cluster.controls.get(name)?.freeze(forMs)
  health.disturbControl(queue.nowMs + forMs + SUCCESSION_MS)
}
