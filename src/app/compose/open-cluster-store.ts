import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import type { Config } from '../../cli/config/options.ts'
import { readSeen, SEEN_FILE } from '../../control/watch/known-store.ts'
import type { DataFolder } from '../../platform/data-folder.ts'
import { CLUSTER_FILE, KeptCluster } from '../../platform/kept-cluster.ts'
import type { Metrics } from '../../platform/metrics/metrics.ts'
import type { Clock } from '../../platform/run/clock.ts'
import type { Lifetime } from '../../platform/run/lifetime.ts'
import { version } from '../../platform/version.ts'
import { writeLiveBackup } from '../../store/backup/live-backup.ts'
import { openDatabase } from '../../store/database.ts'
import { measuredDatabase } from '../../store/driver/measured-database.ts'
import { openFileAt, type OpenFile } from '../../store/driver/open-file.ts'
import { findMigrations } from '../../store/migrate/migration-files.ts'
import { refuseOtherStore } from '../../store/migrate/refuse-other-store.ts'
import { agreeOn, CLUSTER_ID, CLUSTER_SECRET } from '../../store/nouns/cluster-facts.ts'
import type { Database } from '../../store/sql.ts'

export interface ClusterStoreOptions {
  config: Config
  folder: DataFolder
  clock: Clock
  life: Lifetime
  metrics: Metrics
  /** For a store that has none yet. */
  clusterSecret: string
}

export interface ClusterStore {
  db: Database
  /** The file of the store, where it is one. */
  file: OpenFile | undefined
  clusterSecret: string
  clusterId: string
  /** Writes a backup of the open store. */
  backup: (sink: (text: AsyncIterable<string>) => Promise<void>) => Promise<unknown>
}

/** Opens the store, refuses that of another cluster, and agrees with the other frontends on what all of them share. */
export async function openClusterStore(options: ClusterStoreOptions): Promise<ClusterStore> {
  const { config, folder, clock, life, metrics } = options
  const cluster = new KeptCluster(folder.file(CLUSTER_FILE))
  if (config.new_cluster) {
    cluster.forget()
    rmSync(folder.file(SEEN_FILE), { force: true })
  }
  const secretHash = readSeen(folder.file(SEEN_FILE))?.secret_hash
  const known = cluster.id === undefined ? undefined : { id: cluster.id, secretHash, folder: folder.path }
  const databaseFile = config.database_url ? undefined : folder.file('flotilla.db')
  const target = databaseFile ? { file: databaseFile } : { url: config.database_url! }
  const opened = await openDatabase(target, known && { before: (driver) => refuseOtherStore(driver, known) })
  const file = databaseFile === undefined ? undefined : openFileAt(databaseFile)
  const db = measuredDatabase(opened, metrics)
  life.own('store', () => db.close())
  // Any frontend may tell a node its data key, and any may lead and tell it to gateways: they must mean the same.
  const clusterSecret = await agreeOn(db, CLUSTER_SECRET, options.clusterSecret)
  const clusterId = await agreeOn(db, CLUSTER_ID, cluster.id ?? randomUUID())
  cluster.learn(clusterId)
  const backup: ClusterStore['backup'] = (sink) =>
    writeLiveBackup(opened, target, { migrations: findMigrations(), program: version, nowMs: clock.nowMs() }, sink)
  return { db, file: file || undefined, clusterSecret, clusterId, backup }
}
