import type { Traffic } from '../clients/traffic.ts'
import type { Cluster } from '../cluster.ts'
import { tellRows } from '../report/row-lines.ts'
import type { Check } from './check.ts'
import { claimsFit } from './claims-fit.ts'
import { converges } from './converges.ts'
import { drainsWait } from './drains-wait.ts'
import { evictionsAreNeeded } from './evictions-are-needed.ts'
import { evictionsAreFair } from './evictions-are-fair.ts'
import { inFlightReturnsToZero } from './requests/in-flight-returns-to-zero.ts'
import { metWhenPossible } from './met-when-possible.ts'
import { neverMoreThanSlots } from './never-more-than-slots.ts'
import { noAttemptsWhileOpen } from './requests/no-attempts-while-open.ts'
import { noRequestIsLost } from './requests/no-request-is-lost.ts'
import { oneLeaderWrites } from './one-leader-writes.ts'
import { oneRunCounts } from './one-run-counts.ts'
import { oneLoadAtATime } from './one-load-at-a-time.ts'
import { pendingNodesGetNothing } from './pending-nodes-get-nothing.ts'
import { onlyRemovedNodesEnd } from './only-removed-nodes-end.ts'
import { processesMatchRows } from './processes-match-rows.ts'
import { retriesWait } from './retries-wait.ts'
import { routedOnlyWhereAllowed } from './requests/routed-only-where-allowed.ts'
import { siblingsAreLeftAlone } from './siblings-are-left-alone.ts'
import { spreadIsOneEach } from './spread-is-one-each.ts'
import { waitsHaveAReason } from './waits-have-a-reason.ts'
import { whatRunsIsAdopted } from './what-runs-is-adopted.ts'
import { whatRunsKeepsItsRow } from './what-runs-keeps-its-row.ts'

export interface Problem {
  check: string
  message: string
}

/** What must not last is looked at about as often as heartbeats come. */
const LOOK_PER_HEARTBEAT = 0.5

/** All checks of one run, told of what they want to know. The first problem is the run's. */
export class Checks {
  problem: Problem | undefined
  readonly #checks: readonly Check[]
  readonly #cluster: Cluster
  #isOver = false

  constructor(cluster: Cluster, traffic: Traffic) {
    this.#cluster = cluster
    const later: Check = metWhenPossible(cluster, (problem) => this.#note(later, problem))
    this.#checks = [
      neverMoreThanSlots(cluster),
      routedOnlyWhereAllowed(cluster),
      claimsFit(cluster),
      processesMatchRows(cluster),
      inFlightReturnsToZero(cluster, traffic),
      siblingsAreLeftAlone(cluster),
      later,
      noAttemptsWhileOpen(cluster),
      pendingNodesGetNothing(cluster),
      oneLeaderWrites(),
      noRequestIsLost(cluster, traffic),
      whatRunsIsAdopted(cluster),
      whatRunsKeepsItsRow(cluster),
      drainsWait(cluster),
      retriesWait(cluster),
      spreadIsOneEach(cluster),
      evictionsAreFair(),
      evictionsAreNeeded(cluster),
      oneLoadAtATime(),
      waitsHaveAReason(cluster),
      onlyRemovedNodesEnd(cluster),
      oneRunCounts(cluster),
      converges(cluster, traffic),
    ]
    const { watchers, store } = cluster
    const on = <
      K extends 'onCommit' | 'onPlan' | 'onServed' | 'onEnded' | 'onToldToEnd' | 'onOutOfMemory' | 'onAllowed',
    >(
      what: K,
    ) => {
      const those = this.#checks.filter((check) => check[what])
      return (...args: Parameters<NonNullable<Check[K]>>): void => {
        for (const check of those)
          this.#note(check, (check[what] as (...all: unknown[]) => string | undefined)(...args))
      }
    }
    const onCommit = on('onCommit')
    store.mirror.onCommit = (commit) => {
      tellRows(commit, store.mirror, cluster.trace)
      onCommit(commit)
    }
    traffic.onEnded = on('onEnded')
    watchers.onPlan = on('onPlan')
    watchers.onServed = on('onServed')
    watchers.onToldToEnd = on('onToldToEnd')
    watchers.onOutOfMemory = on('onOutOfMemory')
    watchers.onAllowed = on('onAllowed')
    this.#lookLater()
  }

  async atEnd(): Promise<void> {
    for (const check of this.#checks) {
      if (!this.problem) this.#note(check, await check.atEnd?.())
    }
    this.#isOver = true
  }

  #lookLater(): void {
    const { queue, settings } = this.#cluster
    queue.after(LOOK_PER_HEARTBEAT * settings.heartbeatPeriodMs, () => {
      if (this.#isOver) return
      for (const check of this.#checks) this.#note(check, check.look?.())
      this.#lookLater()
    })
  }

  #note({ name }: Check, message: string | undefined): void {
    if (message !== undefined) this.problem ??= { check: name, message }
  }
}
