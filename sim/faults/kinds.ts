import * as control from './control.ts'
import * as machines from './machines.ts'
import * as network from './network.ts'
import * as people from './people.ts'
import type { Fault } from './scene.ts'

/** With their weights: what happens often in a cluster happens often here, and all of it far more often than in any. */
const table = {
  'crash-engine': [machines.crashEngine, 6, 'an engine process dies'],
  'freeze-engine': [machines.freezeEngine, 3, 'an engine hangs for a while'],
  'kill-machine': [machines.killMachine, 5, 'a machine dies and is back later'],
  'restart-machine': [machines.restartMachine, 4, 'a machine is back before anybody noticed'],
  'kill-worker': [machines.killWorker, 6, 'kill -9 of a worker; its engines run on'],
  'end-worker': [machines.endWorker, 3, 'SIGTERM to a worker; it drains and is back'],
  'freeze-worker': [machines.freezeWorker, 4, 'SIGSTOP to a worker'],
  'fill-disk': [machines.fillDisk, 2, "a worker's disk is full"],
  'lose-program': [machines.loseProgram, 2, 'the program of the engines is gone'],
  'break-engine': [machines.breakEngine, 3, 'a model starts on one machine no more'],
  'break-model': [machines.breakModel, 2, 'a model starts nowhere'],
  'kill-frontend': [control.killFrontend, 5, 'kill -9 of a frontend, also just after a commit'],
  'freeze-frontend': [control.freezeFrontend, 4, 'SIGSTOP to a frontend'],
  'lose-frontends': [control.loseFrontends, 1, 'all frontends die'],
  'sleep-frontends': [control.sleepFrontends, 1, 'all frontends stand still'],
  'kill-gateway': [control.killGateway, 3, 'kill -9 of a gateway'],
  'freeze-gateway': [control.freezeGateway, 3, 'SIGSTOP to a gateway'],
  'jump-clock': [control.jumpClock, 4, 'the clock of a process jumps'],
  'storm-on-bus': [network.stormOnBus, 3, 'messages lost, doubled, late, reordered'],
  'disconnect-node': [network.disconnectNode, 5, 'a node loses the bus'],
  'lose-bus': [network.loseBus, 2, 'the broker is away'],
  'cut-line': [network.cutLine, 6, 'a line is cut, often one way'],
  'cut-store': [network.cutStore, 2, 'a frontend cannot reach the store'],
  'slow-store': [network.slowStore, 2, 'the store is slow'],
  'lose-store': [network.loseStore, 2, 'the store is away'],
  'conflicts-in-store': [network.conflictsInStore, 2, 'transactions conflict'],
  'lose-answers-of-store': [network.loseAnswersOfStore, 2, 'commits whose answer is lost'],
  'change-rule': [people.changeRule, 8, 'a rule is changed'],
  'delete-rule': [people.deleteRule, 2, 'a rule is deleted'],
  'change-model': [people.changeModel, 6, 'a model gets another meaning'],
  'delete-model': [people.deleteModel, 1, 'a model is deleted'],
  'change-label': [people.changeLabel, 4, 'a label of a node is changed'],
  'change-slots': [people.changeSlots, 3, 'slots of a node are changed'],
  'change-budget': [people.changeBudget, 3, 'the VRAM budget of a node is changed'],
  drain: [people.drain, 3, 'a node is drained'],
  resume: [people.resume, 2, 'a node is resumed'],
  approve: [people.approve, 2, 'a node is approved'],
  'delete-node': [people.deleteNode, 2, 'a node, perhaps alive, is deleted'],
  'accept-loss': [people.acceptLoss, 1, 'somebody accepts a mass loss'],
} as const satisfies Record<string, readonly [Fault, number, string]>

export type FaultName = keyof typeof table

export const faultNames = Object.keys(table) as readonly FaultName[]

/** What each kind is, by its name. */
export const faultKinds: Readonly<Record<string, string>> = Object.fromEntries(
  faultNames.map((name) => [name, table[name][2]]),
)

export function faultOf(name: FaultName): Fault {
  return table[name][0]
}

export function weightOf(name: FaultName): number {
  return table[name][1]
}
