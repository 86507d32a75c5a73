import type { Machine } from '../machine/machine.ts'
import type { Scene } from './scene.ts'

/** What a worker says after a change of place has been heard: a wait between two tries to register, and a heartbeat. */
const HEARD_MS = 45_000
const REFUSED_WAIT_MS = 20_000
/** Long enough that the check sees an original which lost its place and does not end its engines. */
const LONGEST_MS = 300_000

/**
 * A machine is cloned with its data folder: a second worker with the key of its node starts on another machine. Half of the
 * time the first is cut off when it does, for long enough that the copy is taken in. In the end the copy is told to end,
 * dies with its machine, or hangs until the first has its place again and is told to end then, which it does with a goodbye.
 */
export function copyMachine(scene: Scene): string | undefined {
  const { cluster, random } = scene
  const original = random.oneOf(cluster.machines.filter(({ worker }) => worker?.isJoined))
  if (!original) return undefined
  const copy = cluster.copyOf(original)
  if (copy.worker) return undefined
  const missedMs = cluster.settings.liveness.unreachableAfterMs + REFUSED_WAIT_MS
  const isCutOff = random.chance(0.5)
  const cutMs = isCutOff ? missedMs + random.between(0, 120_000) : 0
  const forMs = cutMs + random.between(5000, LONGEST_MS)
  const end = random.oneOf([leave, die, hang])!
  if (isCutOff) cutOff(scene, original, cutMs)
  cluster.health.disturb(copy.name, HEARD_MS)
  cluster.bootMachine(copy)
  scene.endAfter(forMs, () => {
    for (const { name } of [copy, original]) {
      if (isHolder(scene, copy)) cluster.health.disturb(name, missedMs + HEARD_MS)
    }
    end(scene, copy, missedMs)
  })
  const cut = isCutOff ? `, while ${original.name} is cut off for ${cutMs} ms` : ''
  return `a copy of ${original.name} starts${cut}, and ${texts.get(end)} after ${forMs} ms`
}

function leave(_scene: Scene, copy: Machine): void {
  if (copy.worker?.supervisor) copy.worker.leave()
  else copy.die()
}

function die(_scene: Scene, copy: Machine): void {
  copy.die()
}

function hang(scene: Scene, copy: Machine, missedMs: number): void {
  const { worker } = copy
  if (!worker) return
  worker.process.freeze()
  scene.endAfter(missedMs, () => {
    worker.process.thaw()
    scene.cluster.exchange.breakOff(copy.name)
    leave(scene, copy)
  })
}

const texts = new Map([
  [leave, 'is told to end'],
  [die, 'dies'],
  [hang, 'hangs and is told to end'],
])

/** The row of the node has the address of this machine. */
function isHolder({ cluster }: Scene, machine: Machine): boolean {
  return machine.nodeId !== undefined && cluster.machineOfNode(machine.nodeId) === machine
}

/** From frontends and the bus. Gateways still reach it. */
function cutOff(scene: Scene, { name }: Machine, forMs: number): void {
  const { cluster, random } = scene
  const { network, exchange, health } = cluster
  const mends = [...cluster.frontendNames, 'bus'].flatMap((other) => [
    network.cut(name, other),
    network.cut(other, name),
  ])
  exchange.lose(name)
  health.disturb(name, forMs + HEARD_MS)
  scene.endAfter(forMs, () => {
    for (const mend of mends) mend()
    exchange.comeBackSoon(name, random)
  })
}
