import type { HeartbeatMessage, RoutingDeltaMessage, RoutingSnapshotMessage } from '../src/api/bus/messages.ts'
import type { LoadStatus } from '../src/api/load-status.ts'
import { Bus } from './bus.ts'
import { SimControl } from './control.ts'
import { EventQueue } from './event-queue.ts'
import { TIERS } from './faults/admin.ts'
import { SimGateway, type GatewayDeps } from './gateway.ts'
import { noCounts, type Ground } from './ground.ts'
import { drawHardware } from './hardware.ts'
import { Health } from './health.ts'
import { Machine } from './machine.ts'
import type { Parts } from './parts.ts'
import { Random } from './random.ts'
import { Store } from './store.ts'
import { Trace } from './trace.ts'
import { FAILURE_CHANCES, MEAN_LIFE_MS, type Scale } from './scale.ts'

const FRONTENDS = ['f1', 'f2']
const GATEWAYS = ['g1', 'g2']

/** A whole cluster: machines, two frontends that compete to lead, two gateways, and the bus between them. */
export class Cluster {
  readonly ground: Ground
  readonly machines: readonly Machine[]
  readonly gateways: readonly SimGateway[]
  /** Frontends that are up, by name. */
  readonly controls = new Map<string, SimControl>()

  constructor(seed: number, scale: Scale, parts: Parts) {
    const queue = new EventQueue()
    const random = new Random(seed)
    const health = new Health()
    this.ground = {
      queue,
      random,
      health,
      parts,
      trace: new Trace(queue),
      bus: new Bus(queue, random, health),
      store: new Store(queue, parts.broken),
      counts: noCounts(),
      policy: random.oneOf(['spread', 'pack'] as const)!,
      happened: { commits: [], applied: [], planProblems: [], published: [], outOfMemory: [], unserved: [] },
      engines: { failureChance: random.oneOf(FAILURE_CHANCES)!, meanLifeMs: MEAN_LIFE_MS, isHonest: false },
    }
    const { ground } = this
    const askSnapshot = (reply: (snapshot: RoutingSnapshotMessage) => void): void => this.#askSnapshot(reply)
    const askWanted: GatewayDeps['askWanted'] = (...asked) => this.#askWanted(...asked)
    this.machines = Array.from({ length: scale.nodes }, (_, index) => this.#newMachine(index))
    this.gateways = GATEWAYS.map(
      (name) => new SimGateway({ ...ground, name, findWorker: this.findWorker, askSnapshot, askWanted }),
    )
    for (const name of FRONTENDS) this.startFrontend(name)
    for (const machine of this.machines) queue.after(random.between(0, 20_000), () => machine.boot())
  }

  readonly findWorker = (nodeId: string): Machine['worker'] =>
    this.machines.find((machine) => machine.id === nodeId)?.worker

  startFrontend(name: string): void {
    const { ground, findWorker } = this
    const publishDelta = (delta: RoutingDeltaMessage): void => this.#publishDelta(delta)
    this.controls.set(name, new SimControl({ ...ground, owner: name, findWorker, publishDelta }))
  }

  killFrontend(name: string): void {
    this.controls.get(name)?.kill()
    this.controls.delete(name)
  }

  leader(): SimControl | undefined {
    return [...this.controls.values()].find((control) => control.isLeading())
  }

  /** The store has changed: one frontend knows at once, the others are told over the bus. */
  wake(): void {
    const [first, ...others] = this.controls.values()
    first?.wake()
    for (const other of others) this.ground.bus.carry(undefined, () => other.wake())
  }

  #newMachine(index: number): Machine {
    const { ground } = this
    return new Machine(`n${index + 1}`, {
      ground,
      hardware: drawHardware(ground.random),
      slots: ground.random.between(1, 2),
      labels: { tier: ground.random.oneOf(TIERS)! },
      approved: !ground.random.chance(0.2),
      hasFrontend: () => this.controls.size > 0,
      publish: (nodeId, heartbeat) => this.#publishHeartbeat(nodeId, heartbeat),
      onRegistered: () => this.wake(),
    })
  }

  #publishHeartbeat(nodeId: string, heartbeat: HeartbeatMessage): void {
    for (const control of this.controls.values()) {
      this.ground.bus.carry(nodeId, () => control.hear(nodeId, heartbeat))
    }
  }

  #publishDelta(delta: RoutingDeltaMessage): void {
    for (const gateway of this.gateways) this.ground.bus.carry(undefined, () => gateway.hearDelta(delta))
  }

  #askSnapshot(reply: (snapshot: RoutingSnapshotMessage) => void): void {
    const { bus } = this.ground
    for (const control of this.controls.values()) {
      bus.carry(undefined, () => control.answerSnapshot((snapshot) => bus.carry(undefined, () => reply(snapshot))))
    }
  }

  /** All hear it; whoever leads answers. */
  #askWanted(modelName: string, wantedMs: number, reply: (status: LoadStatus) => void): void {
    const { bus } = this.ground
    for (const control of this.controls.values()) {
      bus.carry(undefined, () =>
        control.want(modelName, wantedMs, (status) => bus.carry(undefined, () => reply(status))),
      )
    }
  }
}
