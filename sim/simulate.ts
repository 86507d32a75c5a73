import { blameCheck } from './checks/blame.ts'
import { Violation, type Check } from './checks/check.ts'
import { claimsCheck } from './checks/claims.ts'
import { CONVERGENCE, findUnconverged } from './checks/convergence.ts'
import { epochsCheck } from './checks/epochs.ts'
import { evictionCheck } from './checks/eviction.ts'
import { inFlightCheck } from './checks/in-flight.ts'
import { oneLoadCheck } from './checks/one-load.ts'
import { processesCheck } from './checks/processes.ts'
import { isLost, requestsCheck } from './checks/requests.ts'
import { routesCheck } from './checks/routes.ts'
import { slotsCheck } from './checks/slots.ts'
import { thrashCheck } from './checks/thrash.ts'
import { waitingCheck } from './checks/waiting.ts'
import { Cluster } from './cluster.ts'
import { acceptLoss, changeModel, changeRule } from './faults/admin.ts'
import { startFaults } from './faults/faults.ts'
import type { Counts } from './ground.ts'
import { realParts, type Parts } from './parts.ts'
import { PERFECT_ENGINES, QUIET_MS, type Scale } from './scale.ts'
import { startTraffic } from './traffic.ts'

export interface Scenario extends Scale {
  seed: number
  parts?: Parts
  /** Nodes that are drained at the end stay so, instead of being resumed for the quiet time. */
  leaveDrained?: boolean
}

export interface Outcome {
  seed: number
  events: number
  virtualMs: number
  counts: Counts
  /** Requests that nobody answered in time. */
  lost: number
  traceHash: string
  violation?: { check: string; message: string; event: number; lastLines: string[] }
}

/** Somebody looks at machines that went together this long into the quiet time, and says that they are lost. */
const ACCEPTED_AFTER_MS = 4 * 60_000

/** Of each model to have a rule from the start. */
const RULED = 0.5

/** One run: a cluster with faults for a while, then a quiet time, and every check after every event. */
export function simulate({ seed, parts = realParts, leaveDrained = false, ...scale }: Scenario): Outcome {
  const cluster = new Cluster(seed, scale, parts)
  const { queue, counts, trace } = cluster.ground
  const startMs = queue.nowMs
  let quietSinceMs: number | undefined
  const checks = [
    slotsCheck(),
    routesCheck(),
    processesCheck(),
    inFlightCheck(() => quietSinceMs),
    epochsCheck(),
    requestsCheck(),
    blameCheck(),
    claimsCheck(),
    oneLoadCheck(),
    evictionCheck(),
    thrashCheck(),
    waitingCheck(),
  ]
  let violation: Outcome['violation']
  try {
    const modelNames = Array.from({ length: scale.models }, (_, index) => `m${index + 1}`)
    for (const modelName of modelNames) {
      changeModel(cluster, [modelName])
      // The others are loaded when somebody asks for them.
      if (cluster.ground.random.chance(RULED)) changeRule(cluster, [modelName])
    }
    const endTraffic = startTraffic(cluster, modelNames)
    const endFaults = startFaults(cluster, modelNames)
    runUntil(cluster, checks, startMs + scale.minutes * 60_000)

    endTraffic()
    endFaults()
    calmDown(cluster, leaveDrained)
    quietSinceMs = queue.nowMs
    runUntil(cluster, checks, quietSinceMs + QUIET_MS)
    const problem = findUnconverged(cluster)
    if (problem) throw new Violation(CONVERGENCE, problem)
  } catch (error) {
    if (!(error instanceof Violation)) throw error
    const { check, message } = error
    violation = { check, message, event: queue.ran, lastLines: trace.lastLines() }
  }
  const open = cluster.gateways.flatMap((gateway) => [...gateway.open])
  const lost = open.filter((request) => isLost(request, queue.nowMs)).length
  trace.add('end', JSON.stringify(counts))
  const ended = { seed, events: queue.ran, virtualMs: queue.nowMs - startMs, counts, lost, traceHash: trace.hash() }
  return violation ? { ...ended, violation } : ended
}

function runUntil(cluster: Cluster, checks: readonly Check[], untilMs: number): void {
  const { queue, happened } = cluster.ground
  while (queue.runNext(untilMs)) {
    for (const { name, look } of checks) {
      const problem = look(cluster)
      if (problem) throw new Violation(name, problem)
    }
    for (const list of Object.values(happened)) list.length = 0
  }
}

/** No new faults. Those under way end by themselves within two minutes. */
function calmDown(cluster: Cluster, leaveDrained: boolean): void {
  const { store, queue, trace, engines } = cluster.ground
  trace.add('sim', 'quiet from here on')
  Object.assign(engines, PERFECT_ENGINES)
  for (const machine of cluster.machines) {
    machine.brokenModels.clear()
    machine.setProgram(true)
  }
  for (const { id, desired } of store.nodes.list()) {
    if (desired === 'draining' && !leaveDrained) store.nodes.change(id, { desired: 'active' })
  }
  // By then all have come back that ever will.
  queue.after(ACCEPTED_AFTER_MS, () => acceptLoss(cluster))
  cluster.wake()
}
