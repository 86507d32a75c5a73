import * as control from './control.ts'
import * as copies from './copies.ts'
import * as machines from './machines.ts'
import * as network from './network.ts'
import * as people from './people.ts'
import type { Fault } from './scene.ts'

/** With their weights: what happens often in a cluster happens often here, and all of it far more often than in any. */
const table = {
  'crash-engine': [machines.crashEngine, 6],
  'freeze-engine': [machines.freezeEngine, 3],
  'kill-machine': [machines.killMachine, 5],
  'restart-machine': [machines.restartMachine, 4],
  'kill-worker': [machines.killWorker, 6],
  'end-worker': [machines.endWorker, 3],
  'freeze-worker': [machines.freezeWorker, 4],
  'fill-disk': [machines.fillDisk, 2],
  'lose-program': [machines.loseProgram, 2],
  'break-engine': [machines.breakEngine, 3],
  'break-model': [machines.breakModel, 2],
  'kill-frontend': [control.killFrontend, 5],
  'freeze-frontend': [control.freezeFrontend, 4],
  'lose-frontends': [control.loseFrontends, 1],
  'sleep-frontends': [control.sleepFrontends, 1],
  'empty-frontends': [control.emptyFrontends, 1],
  'kill-gateway': [control.killGateway, 3],
  'freeze-gateway': [control.freezeGateway, 3],
  'jump-clock': [control.jumpClock, 4],
  'storm-on-bus': [network.stormOnBus, 3],
  'disconnect-node': [network.disconnectNode, 5],
  'lose-bus': [network.loseBus, 2],
  'cut-line': [network.cutLine, 6],
  'cut-store': [network.cutStore, 2],
  'slow-store': [network.slowStore, 2],
  'lose-store': [network.loseStore, 2],
  'conflicts-in-store': [network.conflictsInStore, 2],
  'lose-answers-of-store': [network.loseAnswersOfStore, 2],
  'change-rule': [people.changeRule, 8],
  'delete-rule': [people.deleteRule, 2],
  'change-model': [people.changeModel, 6],
  'delete-model': [people.deleteModel, 1],
  'change-label': [people.changeLabel, 4],
  'change-slots': [people.changeSlots, 3],
  'change-budget': [people.changeBudget, 3],
  drain: [people.drain, 3],
  resume: [people.resume, 2],
  approve: [people.approve, 2],
  'delete-node': [people.deleteNode, 2],
  'accept-loss': [people.acceptLoss, 1],
  'copy-machine': [copies.copyMachine, 2],
} as const satisfies Record<string, readonly [Fault, number]>

export type FaultName = keyof typeof table

export const faultNames = Object.keys(table) as readonly FaultName[]

export function faultOf(name: FaultName): Fault {
  return table[name][0]
}

export function weightOf(name: FaultName): number {
  return table[name][1]
}
