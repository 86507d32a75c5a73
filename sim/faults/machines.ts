import type { Machine } from '../machine/machine.ts'
import type { Scene } from './scene.ts'

/** After a worker is back, what it says has been heard. */
const HEARD_MS = 40_000
const LONGEST_MS = 240_000
const PAST_OFFLINE = 1.2

export function crashEngine({ cluster, random }: Scene): string | undefined {
  const engine = random.oneOf(cluster.machines.flatMap(({ engines }) => [...engines.values()]))
  engine?.crash()
  return engine && `an engine of ${engine.spec.model_name} crashes`
}

/** It hangs in a driver: takes connections, answers nothing. */
export function freezeEngine(scene: Scene): string | undefined {
  const { cluster, random } = scene
  const machine = random.oneOf(cluster.machines.filter(({ engines }) => engines.size > 0))
  const engine = random.oneOf([...(machine?.engines.values() ?? [])])
  if (!machine || !engine) return undefined
  const forMs = random.between(1000, 120_000)
  engine.freeze()
  cluster.health.disturb(machine.name, forMs + HEARD_MS)
  scene.endAfter(forMs, () => engine.thaw())
  return `an engine of ${engine.spec.model_name} on ${machine.name} hangs for ${forMs} ms`
}

export function killMachine(scene: Scene): string | undefined {
  return takeDown(scene, scene.random.between(1000, longestMs(scene)), 'dies')
}

/** Back so soon that nobody has noticed, and with nothing of what ran. */
export function restartMachine(scene: Scene): string | undefined {
  return takeDown(scene, scene.random.between(200, 3000), 'restarts')
}

/** kill -9 of the worker alone: its engines run on, and the next worker takes them over. */
export function killWorker(scene: Scene): string | undefined {
  const { cluster, random } = scene
  const machine = random.oneOf(cluster.machines.filter(({ worker }) => worker !== undefined))
  if (!machine) return undefined
  const forMs = random.chance(0.8) ? random.between(200, 20_000) : random.between(20_000, 120_000)
  cluster.killWorker(machine)
  away(scene, machine, forMs)
  scene.endAfter(forMs, () => cluster.startWorker(machine))
  return `the worker of ${machine.name} is killed for ${forMs} ms`
}

/** SIGTERM: it drains, says goodbye, and is started again. */
export function endWorker(scene: Scene): string | undefined {
  const { cluster, random } = scene
  const machine = random.oneOf(cluster.machines.filter(({ worker }) => worker?.supervisor && !worker.isLeaving))
  if (!machine) return undefined
  const forMs = random.between(1000, 120_000)
  machine.worker!.leave()
  away(scene, machine, forMs + HEARD_MS)
  scene.endAfter(forMs, () => cluster.startWorker(machine))
  return `the worker of ${machine.name} is told to end, and back after ${forMs} ms`
}

/** SIGSTOP: it comes back with what it knew before. */
export function freezeWorker(scene: Scene): string | undefined {
  const { cluster, random } = scene
  const machine = random.oneOf(cluster.machines.filter(({ worker }) => worker?.process.isUp))
  if (!machine) return undefined
  const { process } = machine.worker!
  const forMs = random.between(1000, longestMs(scene))
  process.freeze()
  away(scene, machine, forMs)
  scene.endAfter(forMs, () => process.thaw())
  return `the worker of ${machine.name} stands still for ${forMs} ms`
}

export function fillDisk(scene: Scene): string | undefined {
  const { cluster, random } = scene
  const machine = random.oneOf(cluster.machines)!
  const forMs = random.between(5000, 240_000)
  machine.isDiskFull = true
  machine.staged.clear()
  cluster.health.disturb(machine.name, forMs)
  scene.endAfter(forMs, () => (machine.isDiskFull = false))
  return `the disk of ${machine.name} is full for ${forMs} ms`
}

/** Somebody removes the engine's program: what runs runs on, but nothing starts until it is back. */
export function loseProgram(scene: Scene): string | undefined {
  const { cluster, random } = scene
  const machine = random.oneOf(cluster.machines)!
  const forMs = random.between(10_000, 240_000)
  machine.hasProgram = false
  cluster.health.disturb(machine.name, forMs)
  scene.endAfter(forMs, () => (machine.hasProgram = true))
  return `${machine.name} has no engine program for ${forMs} ms`
}

/** A driver is missing: no start of this model succeeds here for a while. */
export function breakEngine(scene: Scene): string | undefined {
  const { cluster, random, modelNames } = scene
  const machine = random.oneOf(cluster.machines)!
  const modelName = random.oneOf(modelNames)!
  const forMs = random.between(10_000, 240_000)
  machine.brokenModels.add(modelName)
  scene.endAfter(forMs, () => machine.brokenModels.delete(modelName))
  return `${machine.name} cannot run ${modelName} for ${forMs} ms`
}

/** A damaged file, a wrong option: the model starts nowhere and the waits between tries grow, until somebody mends it. */
export function breakModel(scene: Scene): string | undefined {
  const { cluster, random, modelNames, operator } = scene
  const modelName = random.oneOf(modelNames)!
  const forMs = random.between(10_000, 240_000)
  for (const { brokenModels } of cluster.machines) brokenModels.add(modelName)
  scene.endAfter(forMs, () => {
    for (const { brokenModels } of cluster.machines) brokenModels.delete(modelName)
    operator.changeModel(modelName)
  })
  return `nobody can run ${modelName} for ${forMs} ms`
}

/** Some of them are away for so long that their silence is judged. */
function longestMs({ cluster }: Scene): number {
  return Math.max(LONGEST_MS, PAST_OFFLINE * cluster.settings.liveness.offlineAfterMs)
}

function takeDown(scene: Scene, forMs: number, what: string): string | undefined {
  const { cluster, random } = scene
  const machine = random.oneOf(cluster.machines.filter(({ isUp }) => isUp))
  if (!machine) return undefined
  machine.die()
  away(scene, machine, forMs)
  scene.endAfter(forMs, () => cluster.bootMachine(machine))
  return `${machine.name} ${what}, back after ${forMs} ms`
}

function away({ cluster }: Scene, { name }: Machine, forMs: number): void {
  cluster.health.disturb(name, forMs + HEARD_MS)
}
