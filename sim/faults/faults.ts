import type { Cluster } from '../cluster.ts'
import {
  acceptLoss,
  changeBudget,
  changeLabel,
  changeModel,
  changeRule,
  changeSlots,
  deleteModel,
  deleteRule,
} from './admin.ts'
import { freezeFrontend, killFrontend, loseAllFrontends, sleepAll, stormOnBus } from './control.ts'
import {
  approve,
  breakEngine,
  breakModel,
  crashEngine,
  cutOff,
  drain,
  killMachine,
  loseProgram,
  restartMachine,
  restartWorker,
  resume,
} from './machines.ts'

/** One thing that goes wrong, or that somebody wants differently. It ends by itself, or leaves nothing to end. */
export type Fault = (cluster: Cluster, modelNames: readonly string[]) => void

/** With their weights: what happens often in a cluster happens often here, and all of it far more often than in any. */
const faults: readonly (readonly [Fault, number])[] = [
  [crashEngine, 6],
  [killMachine, 5],
  [restartMachine, 4],
  [restartWorker, 6],
  [cutOff, 6],
  [changeRule, 9],
  [changeModel, 7],
  [deleteModel, 1],
  [deleteRule, 3],
  [changeLabel, 4],
  [changeSlots, 3],
  [changeBudget, 3],
  [acceptLoss, 1],
  [breakEngine, 3],
  [breakModel, 3],
  [loseProgram, 2],
  [drain, 3],
  [resume, 4],
  [approve, 2],
  [stormOnBus, 4],
  [killFrontend, 4],
  [freezeFrontend, 4],
  [loseAllFrontends, 1],
  [sleepAll, 1],
]

/** Of each kind of fault to be part of a run. */
const PART_OF_RUN = 0.6
const MEAN_WAITS_MS = [4000, 10_000, 30_000, 90_000]

/**
 * Each run draws its own kinds of faults and its own pace. With all of them all of the time, none would ever meet a
 * cluster that has been left alone for long enough to be somewhere interesting.
 * Returns how to end it; faults that are under way end in their own time.
 */
export function startFaults(cluster: Cluster, modelNames: readonly string[]): () => void {
  const { queue, random } = cluster.ground
  const drawn = faults.filter(() => random.chance(PART_OF_RUN))
  const weighted = drawn.flatMap(([fault, weight]) => Array.from({ length: weight }, () => fault))
  const meanWaitMs = random.oneOf(MEAN_WAITS_MS)!
  let isOn = true
  const next = (): void => {
    queue.after(random.waitMs(meanWaitMs), () => {
      if (!isOn) return
      random.oneOf(weighted)?.(cluster, modelNames)
      next()
    })
  }
  next()
  return () => (isOn = false)
}
