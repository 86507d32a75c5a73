import { ALL } from '../health.ts'
import { calm } from '../ground/network.ts'
import { calmStore, type StoreWeather } from '../ground/sim-store.ts'
import type { Scene } from './scene.ts'

/** To notice, to come back, to be heard. */
const RECOVERY_MS = 45_000

/** Messages are lost, doubled, late, and overtake each other. */
export function stormOnBus(scene: Scene): string | undefined {
  const { cluster, random } = scene
  const forMs = random.between(1000, 60_000)
  const weather = { loss: random.next() * 0.5, doubled: random.next() * 0.5, mostDelayMs: random.between(20, 8000) }
  cluster.network.weather = weather
  cluster.health.disturb(ALL, forMs + weather.mostDelayMs + RECOVERY_MS)
  scene.endAfter(forMs, () => {
    if (cluster.network.weather === weather) cluster.network.weather = calm
  })
  const percent = Math.round(weather.loss * 100)
  return `storm on the bus for ${forMs} ms: ${percent} % lost, up to ${weather.mostDelayMs} ms late`
}

/** A node's connection breaks, and it knows: silent but alive, gateways still reach it. */
export function disconnectNode(scene: Scene): string | undefined {
  const { cluster, random } = scene
  const machine = random.oneOf(cluster.machines.filter(({ worker }) => worker?.isJoined))
  if (!machine) return undefined
  const forMs = random.between(500, 180_000)
  const mends = [cluster.network.cut(machine.name, 'bus'), cluster.network.cut('bus', machine.name)]
  cluster.exchange.lose(machine.name)
  cluster.health.disturb(machine.name, forMs + RECOVERY_MS)
  scene.endAfter(forMs, () => {
    for (const mend of mends) mend()
    cluster.exchange.comeBackSoon(machine.name, random)
  })
  return `${machine.name} loses the bus for ${forMs} ms`
}

/** The broker is restarted, or away for long. */
export function loseBus(scene: Scene): string | undefined {
  const { cluster, random } = scene
  const forMs = random.chance(0.5) ? random.between(100, 5000) : random.between(5000, 180_000)
  const { exchange } = cluster
  exchange.goDown()
  cluster.health.disturb(ALL, forMs + RECOVERY_MS)
  scene.endAfter(forMs, () => exchange.comeUp(random))
  return `the bus is away for ${forMs} ms`
}

/** One direction of one line is cut, and nobody is told. */
export function cutLine(scene: Scene): string | undefined {
  const { cluster, random } = scene
  const names = [...cluster.frontendNames, ...cluster.gatewayNames, 'bus', random.oneOf(cluster.machines)!.name]
  const from = random.oneOf(names)!
  const to = random.oneOf(names.filter((name) => name !== from))!
  return cut(scene, from, to, random.chance(0.5))
}

/** A frontend cannot reach the store. */
export function cutStore(scene: Scene): string | undefined {
  return cut(scene, scene.random.oneOf(scene.cluster.frontendNames)!, 'store', true)
}

export function slowStore(scene: Scene): string | undefined {
  return weatherOfStore(scene, 'is slow', { mostDelayMs: scene.random.between(50, 5000) })
}

export function loseStore(scene: Scene): string | undefined {
  return weatherOfStore(scene, 'is away', { isDown: true })
}

export function conflictsInStore(scene: Scene): string | undefined {
  return weatherOfStore(scene, 'has conflicts', { conflict: 0.5, mostDelayMs: 50 })
}

/** What was committed is not told. */
export function loseAnswersOfStore(scene: Scene): string | undefined {
  return weatherOfStore(scene, 'loses answers', { lostAnswer: 0.3, mostDelayMs: 50 })
}

function cut(scene: Scene, from: string, to: string, isBothWays: boolean): string {
  const { cluster, random } = scene
  const forMs = random.between(1000, 120_000)
  const mends = [cluster.network.cut(from, to), ...(isBothWays ? [cluster.network.cut(to, from)] : [])]
  for (const name of [from, to]) cluster.health.disturb(name, forMs + RECOVERY_MS)
  scene.endAfter(forMs, () => {
    for (const mend of mends) mend()
  })
  return `the line from ${from} to ${to}${isBothWays ? ' and back' : ''} is cut for ${forMs} ms`
}

function weatherOfStore(scene: Scene, what: string, change: Partial<StoreWeather>): string {
  const { cluster, random } = scene
  const forMs = random.between(1000, 120_000)
  const weather = { ...calmStore, ...change }
  cluster.store.weather = weather
  cluster.health.disturb('store', forMs + RECOVERY_MS)
  scene.endAfter(forMs, () => {
    if (cluster.store.weather === weather) cluster.store.weather = calmStore
  })
  return `the store ${what} for ${forMs} ms`
}
