import { ALL } from '../health.ts'
import type { Scene } from './scene.ts'

/** After a leader is gone, this much later at the latest another has taken its first turn. */
const SUCCESSION_MS = 45_000
/** A frontend or a gateway that stood still for longer has lost its connections. */
const CONNECTION_LIFE_MS = 60_000

/** kill -9, at whatever it is waiting for; half of the time just when something is committed and nobody told of it yet. */
export function killFrontend(scene: Scene): string | undefined {
  const { cluster, random } = scene
  const name = random.oneOf([...cluster.frontendsUp.keys()])
  if (!name) return undefined
  const forMs = random.between(500, 60_000)
  const isAtCommit = random.chance(0.5)
  const kill = (): void => {
    cluster.killFrontend(name)
    cluster.health.disturb(name, forMs + SUCCESSION_MS)
    scene.endAfter(forMs, () => cluster.startFrontend(name))
  }
  if (isAtCommit) cluster.store.onceCommitted(name, kill)
  else kill()
  cluster.health.disturb(name, forMs + SUCCESSION_MS)
  return `${name} is killed${isAtCommit ? ' at its next commit' : ''} for ${forMs} ms`
}

/** Nobody leads for longer than it takes to call a node offline. What runs must not suffer from it. */
export function loseFrontends(scene: Scene): string | undefined {
  const { cluster, random } = scene
  const forMs = random.between(5000, 300_000)
  for (const name of cluster.frontendsUp.keys()) {
    cluster.killFrontend(name)
    cluster.health.disturb(name, forMs + SUCCESSION_MS)
    scene.endAfter(forMs, () => cluster.startFrontend(name))
  }
  return `all frontends are gone for ${forMs} ms`
}

/** As frontends that were started empty at the old addresses: they know no node, and are of another cluster. */
export function emptyFrontends(scene: Scene): string | undefined {
  const { cluster, random } = scene
  const forMs = random.between(30_000, 400_000)
  cluster.areFrontendsEmpty = true
  cluster.health.disturb(ALL, forMs + SUCCESSION_MS)
  scene.endAfter(forMs, () => (cluster.areFrontendsEmpty = false))
  return `all frontends know no node for ${forMs} ms`
}

export function freezeFrontend(scene: Scene): string | undefined {
  const name = scene.random.oneOf([...scene.cluster.frontendsUp.keys()])
  return name && freeze(scene, [name])
}

/** As a laptop whose lid was closed: all frontends stand still and go on as if nothing had been. */
export function sleepFrontends(scene: Scene): string | undefined {
  return freeze(scene, [...scene.cluster.frontendsUp.keys()])
}

export function killGateway(scene: Scene): string | undefined {
  const { cluster, random } = scene
  const name = random.oneOf([...cluster.gatewaysUp.keys()])
  if (!name) return undefined
  const forMs = random.between(500, 60_000)
  cluster.killGateway(name)
  cluster.health.disturb(name, forMs + SUCCESSION_MS)
  scene.endAfter(forMs, () => cluster.startGateway(name))
  return `${name} is killed for ${forMs} ms`
}

export function freezeGateway(scene: Scene): string | undefined {
  const { cluster, random } = scene
  const name = random.oneOf([...cluster.gatewaysUp.keys()])
  const process = name && cluster.gatewaysUp.get(name)?.process
  if (!process) return undefined
  const forMs = random.between(500, 60_000)
  process.freeze()
  cluster.health.disturb(name, forMs + SUCCESSION_MS)
  scene.endAfter(forMs, () => process.thaw())
  return `${name} stands still for ${forMs} ms`
}

/** The clock of one process is set to another time. */
export function jumpClock(scene: Scene): string | undefined {
  const { cluster, random } = scene
  const processes = [
    ...[...cluster.frontendsUp.values(), ...cluster.gatewaysUp.values()].map(({ process }) => process),
    ...cluster.machines.flatMap(({ worker }) => (worker ? [worker.process] : [])),
  ]
  const process = random.oneOf(processes)
  if (!process) return undefined
  const byMs = random.between(-4 * 60_000, 4 * 60_000)
  const forMs = random.between(10_000, 600_000)
  process.skewMs += byMs
  cluster.health.disturb(process.name, 10_000)
  scene.endAfter(forMs, () => {
    process.skewMs -= byMs
    cluster.health.disturb(process.name, 10_000)
  })
  return `the clock of ${process.name} jumps by ${byMs} ms, and back after ${forMs} ms`
}

function freeze(scene: Scene, names: readonly string[]): string {
  const { cluster, random } = scene
  const forMs = random.between(1000, 120_000)
  for (const name of names) {
    const process = cluster.frontendsUp.get(name)?.process
    process?.freeze()
    cluster.health.disturb(name, forMs + SUCCESSION_MS)
    scene.endAfter(forMs, () => {
      process?.thaw()
      if (forMs > CONNECTION_LIFE_MS) cluster.exchange.breakOff(name)
    })
  }
  if (names.length > 1) cluster.health.disturb(ALL, forMs + SUCCESSION_MS)
  return `${names.join(' and ')} stand still for ${forMs} ms`
}
