import type { Machine } from '../machine/machine.ts'
import type { Scene } from './scene.ts'

/** What people ask for through the admin API. */

export function changeRule({ random, operator, modelNames }: Scene): string | undefined {
  operator.changeRule(random.oneOf(modelNames)!)
  return 'somebody changes a rule'
}

export function deleteRule({ random, operator, modelNames }: Scene): string | undefined {
  operator.deleteRule(random.oneOf(modelNames)!)
  return 'somebody deletes a rule'
}

export function changeModel({ random, operator, modelNames }: Scene): string | undefined {
  operator.changeModel(random.oneOf(modelNames)!)
  return 'somebody changes a model'
}

export function deleteModel(scene: Scene): string | undefined {
  const { random, operator, modelNames } = scene
  const name = random.oneOf(modelNames)!
  operator.deleteModel(name)
  scene.endAfter(random.between(1000, 1_800_000), () => operator.changeModel(name))
  return `somebody deletes ${name}`
}

export function changeLabel(scene: Scene): string | undefined {
  scene.operator.changeLabel(anyMachine(scene))
  return 'somebody changes a label'
}

export function changeSlots(scene: Scene): string | undefined {
  scene.operator.changeSlots(anyMachine(scene))
  return 'somebody changes slots'
}

export function changeBudget(scene: Scene): string | undefined {
  scene.operator.changeBudget(anyMachine(scene))
  return 'somebody changes a budget'
}

export function drain(scene: Scene): string | undefined {
  const machine = anyMachine(scene)
  scene.operator.drain(machine)
  scene.endAfter(scene.random.between(10_000, 3_600_000), () => scene.operator.resume(machine))
  return `somebody drains ${machine.name}`
}

export function resume(scene: Scene): string | undefined {
  scene.operator.resume(anyMachine(scene))
  return 'somebody resumes a node'
}

export function approve(scene: Scene): string | undefined {
  scene.operator.approve(anyMachine(scene))
  return 'somebody approves a node'
}

export function acceptLoss({ operator }: Scene): string | undefined {
  operator.acceptLoss()
  return 'somebody accepts the loss'
}

/** Of a node that may be alive. It is told to stop; later it is started again, registers anew and is approved. */
export function deleteNode(scene: Scene): string | undefined {
  const { cluster, random, operator } = scene
  const machine = anyMachine(scene)
  if (machine.nodeId === undefined) return undefined
  const forMs = random.between(10_000, 600_000)
  operator.deleteNode(machine)
  cluster.health.disturb(machine.name, forMs + 120_000)
  scene.endAfter(forMs, () => cluster.startWorker(machine))
  cluster.queue.after(forMs + random.between(5000, 60_000), () => operator.approve(machine))
  return `somebody deletes ${machine.name}`
}

function anyMachine({ cluster, random }: Scene): Machine {
  return random.oneOf(cluster.machines)!
}
