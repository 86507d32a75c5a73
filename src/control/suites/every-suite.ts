import { describe } from 'vitest'
import { describeApproval } from './approval-suite.ts'
import { describeBreaker } from './breaker-suite.ts'
import { describeCluster } from './cluster-suite.ts'
import { describeControl } from './control-suite.ts'
import { describeDeclaredRules } from './declared-rules-suite.ts'
import { describeEvents } from './events-suite.ts'
import { describeFrontends } from './frontends-suite.ts'
import { describeHeartbeats } from './heartbeats-suite.ts'
import { describeIdentity } from './identity-suite.ts'
import { describeJoining } from './joining-suite.ts'
import { describeKeptWorld } from './kept-world-suite.ts'
import { describeLive } from './live-suite.ts'
import { describePlans } from './plan-suite.ts'
import { describeNodeRuns } from './node-runs-suite.ts'
import { describePruning } from './prune-suite.ts'
import { describeRules } from './rules-suite.ts'
import { describeSessions } from './session-suite.ts'
import { describeUnchanged } from './unchanged-suite.ts'
import { describeWhatIf } from './what-if-suite.ts'
import { describeWorld } from './world-suite.ts'

/** What holds on every store. */
export function describeEverything(store: string, openStore: Parameters<typeof describeControl>[1]): void {
  describe(`control on ${store}`, () => {
    for (const describeOn of SUITES) describeOn(store, openStore)
  })
}

const SUITES = [
  describeControl,
  describeHeartbeats,
  describeJoining,
  describeIdentity,
  describeEvents,
  describeApproval,
  describeWorld,
  describeRules,
  describeBreaker,
  describeDeclaredRules,
  describePlans,
  describeWhatIf,
  describeCluster,
  describeKeptWorld,
  describeSessions,
  describeLive,
  describeUnchanged,
  describePruning,
  describeFrontends,
  describeNodeRuns,
]
