import type { Cluster } from '../cluster.ts'
import { changeModel } from './admin.ts'
import { HEARTBEAT_PERIOD_MS } from '../limits.ts'
import type { Machine } from '../machine.ts'

/** Of each machine that dies. */
const NEVER_BACK = 0.1

export function killMachine({ machines, ground }: Cluster): void {
  const { random, queue, trace } = ground
  const machine = random.oneOf(machines.filter(isUp))
  if (!machine) return
  trace.add(machine.id, 'dies')
  machine.die()
  // At least half of the machines come back, so that something is left to look at.
  const mayStayAway = machines.filter(isUp).length > machines.length / 2
  if (mayStayAway && random.chance(NEVER_BACK)) return
  queue.after(random.between(500, 120_000), () => machine.boot())
}

/** Up again at once: back before anybody has missed it, and with nothing of what ran. */
export function restartMachine({ machines, ground }: Cluster): void {
  const { random, queue, trace } = ground
  const machine = random.oneOf(machines.filter(isUp))
  if (!machine) return
  trace.add(machine.id, 'restarts')
  machine.die()
  queue.after(random.between(200, 3000), () => machine.boot())
}

/** kill -9 of the worker alone: its engines run on, and the next worker takes them over. */
export function restartWorker({ machines, ground }: Cluster): void {
  const { random, queue, trace } = ground
  const machine = random.oneOf(machines.filter(({ worker }) => worker !== undefined))
  if (!machine) return
  const forMs = random.between(200, 20_000)
  trace.add(machine.id, `loses its worker for ${forMs} ms`)
  machine.killWorker(forMs)
  queue.after(forMs, () => machine.startWorker())
}

/** Somebody removes the engine's program: what runs runs on, but nothing starts until it is back. */
export function loseProgram({ machines, ground }: Cluster): void {
  const { random, queue, trace } = ground
  const machine = random.oneOf(machines)!
  const forMs = random.between(10_000, 120_000)
  trace.add(machine.id, `has no engine program for ${forMs} ms`)
  machine.setProgram(false)
  queue.after(forMs, () => machine.setProgram(true))
}

/** Silent but alive: the gateways still reach it. */
export function cutOff({ machines, ground }: Cluster): void {
  const { random, queue, trace, bus, health, counts } = ground
  const machine = random.oneOf(machines.filter(({ id }) => !bus.isCutOff(id)))
  if (!machine) return
  const forMs = random.between(1000, 120_000)
  counts.partitions += 1
  trace.add(machine.id, `is cut off for ${forMs} ms`)
  bus.cutOff(machine.id)
  health.disturbNode(machine.id, queue.nowMs + forMs + HEARTBEAT_PERIOD_MS)
  queue.after(forMs, () => bus.reconnect(machine.id))
}

export function crashEngine({ machines, ground }: Cluster): void {
  ground.random.oneOf(machines.flatMap(({ engines }) => [...engines]))?.crash()
}

/** A driver is missing: no start of this model succeeds here for a while. */
export function breakEngine({ machines, ground }: Cluster, modelNames: readonly string[]): void {
  const { random, queue, trace } = ground
  const { id, brokenModels } = random.oneOf(machines)!
  const modelName = random.oneOf(modelNames)!
  const forMs = random.between(10_000, 120_000)
  trace.add(id, `cannot run ${modelName} for ${forMs} ms`)
  brokenModels.add(modelName)
  queue.after(forMs, () => brokenModels.delete(modelName))
}

/** A damaged file, a wrong option: the model starts nowhere and the waits between tries grow, until somebody mends it. */
export function breakModel(cluster: Cluster, modelNames: readonly string[]): void {
  const { random, queue, trace } = cluster.ground
  const modelName = random.oneOf(modelNames)!
  const forMs = random.between(10_000, 120_000)
  trace.add('all', `cannot run ${modelName} for ${forMs} ms`)
  for (const { brokenModels } of cluster.machines) brokenModels.add(modelName)
  queue.after(forMs, () => {
    for (const { brokenModels } of cluster.machines) brokenModels.delete(modelName)
    changeModel(cluster, [modelName])
  })
}

export function drain(cluster: Cluster): void {
  setDesired(cluster, 'active', 'draining')
}

export function resume(cluster: Cluster): void {
  setDesired(cluster, 'draining', 'active')
}

export function approve(cluster: Cluster): void {
  const { store, random, trace, counts } = cluster.ground
  const node = random.oneOf([...store.nodes.list()].filter(({ approved }) => !approved))
  if (!node || cluster.controls.size === 0) return
  counts.changes += 1
  trace.add('user', `approves ${node.id}`)
  store.nodes.change(node.id, { approved: true })
  cluster.wake()
}

function setDesired(cluster: Cluster, from: 'active' | 'draining', to: 'active' | 'draining'): void {
  const { store, random, trace, counts } = cluster.ground
  const node = random.oneOf([...store.nodes.list()].filter(({ desired }) => desired === from))
  if (!node || cluster.controls.size === 0) return
  counts.changes += 1
  trace.add('user', `wants ${node.id} ${to}`)
  store.nodes.change(node.id, { desired: to })
  cluster.wake()
}

function isUp(machine: Machine): boolean {
  return machine.isUp
}
