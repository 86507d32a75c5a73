import { isEnding } from '../lifecycle/states.ts'
import { mismatchOf } from '../nodes/selector.ts'
import type { Demand, Model, ModelLoad, Node, Replica, Rule } from '../types.ts'
import type { StopReason } from './plan.ts'
import { idleBeyondNeed, needsOneMore } from './scale.ts'
import { spreadOver } from './spread.ts'

/** One model with all that asks for it and all that there is of it. */
export interface Case {
  modelName: string
  model: Model | undefined
  rule: Rule | undefined
  /** Undefined when no client waits, or not any longer. */
  demand: Demand | undefined
  /** Undefined when no load was reported for it. */
  load: ModelLoad | undefined
  replicas: readonly Replica[]
}

/** The replicas of one model by what is to become of them. */
export interface Sets {
  /** Ready or on the way. */
  keep: Replica[]
  /** On a node that is gone. */
  lost: Replica[]
  unwanted: { replica: Replica; why: StopReason }[]
  /** Of an old revision and still there until others have taken their place, or their room is needed. */
  stale: Replica[]
  /** Could not start; remembered, so that the node is left alone for a while. */
  failed: Replica[]
  /** Could not start, and no longer worth remembering. */
  done: Replica[]
  missing: number
  /** Of the missing, how many a rule or a waiting client asks for; the rest would take the place of stale ones. */
  urgent: number
  /** For a rule that wants one on every node: the nodes that have none. */
  missingOn: string[]
}

/** How long a failure is remembered without demand, so that a client that returns soon does not start it all over. */
const REMEMBERED_MS = 10 * 60_000

export interface Surroundings {
  nowMs: number
  offline: ReadonlySet<string>
  nodes: ReadonlyMap<string, Node>
}

/** Names the sets of one model's replicas; what follows writes itself. */
export function sortOut(one: Case, surroundings: Surroundings): Sets {
  const { sets, misplaced } = classify(one, surroundings)
  if (!one.model) return sets
  if (one.rule?.spreadAll) coverNodes(sets, misplaced, one, one.rule, surroundings)
  else reachCount(sets, misplaced, one, surroundings)
  return sets
}

interface Classified {
  sets: Sets
  /** On a node that the rule no longer selects. */
  misplaced: Replica[]
}

function classify(one: Case, { nowMs, offline, nodes }: Surroundings): Classified {
  const { model, rule, replicas } = one
  const misplaced: Replica[] = []
  const sets: Sets = {
    keep: [],
    lost: [],
    unwanted: [],
    stale: [],
    failed: [],
    done: [],
    missing: 0,
    urgent: 0,
    missingOn: [],
  }
  const isAsked = leastOf(one) > 0 || rule?.spreadAll === true
  for (const replica of replicas) {
    const node = nodes.get(replica.nodeId)
    if (offline.has(replica.nodeId)) sets.lost.push(replica)
    else if (isEnding(replica.state)) continue
    else if (replica.state === 'failed') {
      // It has no process, so there is nothing to stop.
      const isRemembered = isAsked || (replica.retryAtMs ?? 0) + REMEMBERED_MS > nowMs
      if (isRemembered && replica.revision === model?.revision) sets.failed.push(replica)
      else sets.done.push(replica)
    } else if (!model) sets.unwanted.push({ replica, why: 'no model' })
    else if (replica.revision !== model.revision) {
      // What never served leaves no gap.
      if (replica.state === 'ready') sets.stale.push(replica)
      else sets.unwanted.push({ replica, why: 'old revision' })
    } else if (node && rule && mismatchOf(rule.nodeSelector, node.labels)) misplaced.push(replica)
    // It stays and finishes its requests, in case the node is resumed; but it gets no new ones, so it is replaced.
    else if (node?.desired !== 'draining') sets.keep.push(replica)
  }
  return { sets, misplaced }
}

/** The least number to have: what the rule asks for, and one for waiting clients. */
function leastOf({ rule, demand }: Case): number {
  return Math.max(rule?.minReplicas ?? 0, demand ? 1 : 0)
}

/** Between minimum and maximum: as many as there are, one more when they are not enough, fewer when they are idle. */
function reachCount(sets: Sets, misplaced: readonly Replica[], one: Case, { nowMs }: Surroundings): void {
  const { rule, demand, load } = one
  const least = leastOf(one)
  // What does not serve yet goes first, then the highest index: those left are the ones a person expects, #0, #1, …
  sets.keep.sort(
    (a, b) => startsLater(a) - startsLater(b) || a.replicaIndex - b.replicaIndex || (a.nodeId < b.nodeId ? -1 : 1),
  )
  const most = rule?.maxReplicas || Number.POSITIVE_INFINITY
  while (sets.keep.length > most) sets.unwanted.push({ replica: sets.keep.pop()!, why: 'surplus' })
  if (rule && !demand && sets.stale.length === 0) {
    for (const replica of idleBeyondNeed(rule, sets.keep, nowMs)) leave(sets, replica, 'idle')
  }

  const ready = sets.keep.filter(({ state }) => state === 'ready').length
  // While some are of an old revision, as many of the new one as there were; never both together, or each new one that
  // is ready would ask for one more.
  const replacing = sets.stale.length === 0 ? 0 : Math.max(sets.keep.length, sets.stale.length)
  const growing = rule && needsOneMore(rule, sets.keep, load) ? sets.keep.length + 1 : 0
  // One more that is on its way comes, even if it is no longer that busy.
  const coming = rule && ready > 0 ? sets.keep.length : 0
  const wanted = Math.min(most, Math.max(least, ready, replacing, growing, coming))
  sets.missing = Math.max(0, wanted - sets.keep.length)
  sets.urgent = Math.max(0, Math.min(least, wanted) - sets.keep.length)
  giveUpStarts(sets, wanted)
  replaceStale(sets, wanted, ready)
  // Only when all are ready, not merely starting: otherwise two bad nodes would be tried in turn without any wait.
  if (least > 0 && ready >= wanted) sets.done.push(...sets.failed.splice(0))
  if (ready < least) return
  // Until then a misplaced one gets no requests, but a label that was changed by mistake can still be put back.
  for (const replica of misplaced) sets.unwanted.push({ replica, why: 'selector' })
}

/** One on every node that the rule selects. A replica on a node that is no longer selected is not replaced elsewhere. */
function coverNodes(
  sets: Sets,
  misplaced: readonly Replica[],
  { demand }: Case,
  rule: Rule,
  { nodes }: Surroundings,
): void {
  const { missingOn, surplus } = spreadOver(rule, nodes.values(), sets.keep)
  for (const replica of surplus) leave(sets, replica, 'surplus')
  for (const replica of misplaced) sets.unwanted.push({ replica, why: 'selector' })
  const open = new Set(missingOn)
  // Of an old revision: it goes when its node has a new one, or for the sake of that.
  for (const replica of sets.stale.splice(0)) {
    if (open.has(replica.nodeId)) sets.stale.push(replica)
    else sets.unwanted.push({ replica, why: 'old revision' })
  }
  for (const replica of sets.failed.splice(0)) (open.has(replica.nodeId) ? sets.failed : sets.done).push(replica)
  sets.missingOn = missingOn
  // A client waits although no node is selected: the refusals of all nodes say why.
  const isNowhere = demand && missingOn.length === 0 && sets.keep.length === 0
  sets.missing = isNowhere ? 1 : missingOn.length
  sets.urgent = sets.missing
}

function leave(sets: Sets, replica: Replica, why: StopReason): void {
  sets.keep.splice(sets.keep.indexOf(replica), 1)
  sets.unwanted.push({ replica, why })
}

function startsLater({ state }: Replica): number {
  return state === 'ready' ? 0 : 1
}

/** Loads that no rule asks for and no client waits for any longer. What serves already stays: it may be asked again. */
function giveUpStarts(sets: Sets, wanted: number): void {
  for (let i = sets.keep.length - 1; i >= 0 && sets.keep.length > wanted; i -= 1) {
    if (sets.keep[i]!.state === 'ready') continue
    const [replica] = sets.keep.splice(i, 1)
    sets.unwanted.push({ replica: replica!, why: 'nobody waits' })
  }
}

/**
 * Replicas of an old revision get no requests any more, but they hold their memory and an edit may be taken back: each
 * goes when one of the new revision is ready in its place.
 */
function replaceStale(sets: Sets, wanted: number, ready: number): void {
  const kept: Replica[] = []
  const served = sets.stale.toSorted((a, b) => a.replicaIndex - b.replicaIndex)
  for (const replica of served) {
    if (kept.length < wanted - ready) kept.push(replica)
    else sets.unwanted.push({ replica, why: 'old revision' })
  }
  sets.stale = kept
}
