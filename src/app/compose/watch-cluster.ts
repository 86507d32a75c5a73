import type { Bus } from '../../bus/bus.ts'
import type { Config } from '../../cli/config/options.ts'
import { startEventFeed, type EventFeed } from '../../control/changes/event-feed.ts'
import { hearGateways } from '../../control/routing/gateway-reports.ts'
import { startLiveFeed, type LiveFeed } from '../../control/views/live/live-feed.ts'
import { Conditions } from '../../control/watch/conditions.ts'
import { KnownStore, SEEN_FILE } from '../../control/watch/known-store.ts'
import { ReachWatch } from '../../control/watch/reach-watch.ts'
import { whyUnreachable } from '../../http/client/reach-port.ts'
import type { DataFolder } from '../../platform/data-folder.ts'
import type { Clock } from '../../platform/run/clock.ts'
import type { Lifetime } from '../../platform/run/lifetime.ts'
import type { Logger } from '../../platform/run/log.ts'
import { hashSecret } from '../../platform/secrets.ts'
import type { ClusterStore } from './open-cluster-store.ts'
import { watchProcess } from './watch-process.ts'

export interface ClusterWatchOptions {
  config: Pick<Config, 'placement'>
  folder: DataFolder
  store: ClusterStore
  controlBus: Bus
  clock: Clock
  log: Logger
  life: Lifetime
}

export interface ClusterWatch {
  conditions: Conditions
  reach: ReachWatch
  live: LiveFeed
  events: EventFeed
  known: KnownStore
}

/** What a frontend sees of the cluster whether it leads or not: events, the live picture, and what is wrong. */
export function watchCluster(options: ClusterWatchOptions): ClusterWatch {
  const { config, folder, controlBus, clock, log, life } = options
  const { db, file, clusterId, clusterSecret } = options.store
  const conditions = new Conditions(log)
  life.own('process watch', watchProcess({ conditions, clock, db, file }))
  const reach = new ReachWatch({ conditions, clock, whyUnreachable })
  const heard = hearGateways(controlBus, clock, reach)
  life.own('reach watch', () => reach.dispose())
  const live = startLiveFeed({ db, clock, log, placement: config.placement, heard, conditions })
  controlBus.subscribe('wake', () => live.wake())
  const events = startEventFeed({ db, clock, log, onWake: () => live.wake() })
  const known = new KnownStore({
    db,
    clusterId,
    file: folder.file(SEEN_FILE),
    secretHash: hashSecret(clusterSecret),
    conditions,
    clock,
    log,
  })
  life.own('known store', () => known.dispose())
  known.onBack(() => events.restart())
  return { conditions, reach, live, events, known }
}
