import { dirname, join } from 'node:path'
import type { Clock } from '../../platform/run/clock.ts'
import type { Lifetime } from '../../platform/run/lifetime.ts'
import type { Logger } from '../../platform/run/log.ts'
import { builtInProfiles } from '../engines/built-in.ts'
import { Engines } from '../engines/engines.ts'
import type { FrontendFiles } from '../files/frontend-files.ts'
import { ModelFiles } from '../files/model-files.ts'
import { watchFrozenEngines } from '../memory/frozen-engines.ts'
import { measureDisk } from '../hardware/disk.ts'
import type { FakeDevices } from '../hardware/fake-devices.ts'
import { realSystem } from '../hardware/real-system.ts'
import { Journal } from './journal.ts'
import type { ReplicaLimits } from './launch.ts'
import { logsHandler, type LogsHandler } from '../logs/logs-handler.ts'
import { ReplicaLogs } from '../logs/replica-logs.ts'
import { Ports, type PortRange } from './ports.ts'
import { openConfinement, type ConfinementOptions } from '../processes/confinement.ts'
import { workerMark } from '../processes/engine-mark.ts'
import { workOfEach } from '../processes/group-work.ts'
import { startWatchdog } from '../processes/watchdog.ts'
import { Pulls } from '../files/pulls.ts'
import { Supervisor } from './supervisor.ts'

export interface ReplicasOptions {
  /** The worker's own folder: journal, logs, engines and model files are below it. */
  folder: string
  enginePorts: PortRange
  limits: ReplicaLimits
  /** Ends engines of an earlier run instead of adopting them. */
  restartEngines: boolean
  /** Leaves running engines to the next worker. */
  keepEngines: boolean
  /** The folder of the user's engine profiles. */
  profilesFolder: string
  files: FileOptions
  /** The user that engines run as, and their limits. */
  confine: Omit<ConfinementOptions, 'root'>
}

export interface FileOptions {
  quotaBytes: number | undefined
  bytesPerSecond: number | undefined
  sharedFolder: string | undefined
  hfEndpoint: string
  hfToken: string | undefined
  /** Hosts and ranges outside the public internet that sources may point to. */
  allowSources: readonly string[]
  /** The models folder of a frontend on this machine: its files are used in place. */
  frontendFolder: string | undefined
}

export interface Replicas {
  supervisor: Supervisor
  engines: Engines
  files: ModelFiles
  pulls: Pulls
  logs: ReplicaLogs
  readLogs: LogsHandler
}

interface OpenDeps {
  /** The node's key, by which engines of an earlier run are recognized. */
  publicKey: string
  clock: Clock
  log: Logger
  life: Lifetime
  onChange: () => void
  onPhase?: ((modelName: string, phase: string, seconds: number) => void) | undefined
  /** Asked at the end: whether the engines are left to another worker. */
  leavesEngines: () => boolean
  fakeDevices?: FakeDevices | undefined
  gpuVendor: () => string | null
}

/** Opens everything that runs replicas on this node, including what an earlier run of the worker left behind. */
export async function openReplicas(
  options: ReplicasOptions,
  frontend: FrontendFiles,
  { publicKey, clock, log, life, onChange, onPhase, leavesEngines, fakeDevices, gpuVendor }: OpenDeps,
): Promise<Replicas> {
  const { folder, enginePorts, limits, restartEngines: isClean, profilesFolder } = options
  const journal = new Journal(join(folder, 'replicas'))
  const watchdog = startWatchdog({ folder: journal.folder, graceMs: isClean ? 0 : limits.orphanGraceMs, clock })
  // Without this call the watchdog keeps the engines until another worker adopts them, or their grace period ends.
  life.own('watchdog', () => (leavesEngines() ? undefined : watchdog.done()))
  const logs = await ReplicaLogs.open(join(folder, 'logs'), { clock, log })
  life.own('logs', () => logs.dispose())
  const modelsFolder = join(folder, 'models')
  const freeBytes = () => freeBytesAt(modelsFolder)
  const files = await ModelFiles.open({ folder: modelsFolder, ...options.files, frontend, freeBytes, clock, log })
  life.own('model files', () => files.dispose())
  const engines = Engines.open({
    folder: join(folder, 'engines'),
    profilesFolder,
    builtIn: fakeDevices ? fakeDevices.profilesFrom(builtInProfiles) : builtInProfiles,
    fetchArchive: (url, sha256, hooks) => files.fetch(`${url}#sha256=${sha256}`, hooks),
    stopReplicas: (engine) => supervisor.stopEngine(engine),
    gpuVendor,
    onChange,
    clock,
    log,
    env: process.env,
  })
  life.own('engines', () => engines.dispose())
  const ports = new Ports({ range: enginePorts, clock, log, random: Math.random })
  const supervisor: Supervisor = new Supervisor({
    ports,
    engines,
    files,
    logs,
    journal,
    clock,
    log,
    limits,
    workerMark: workerMark(publicKey, journal.folder),
    confinement: openConfinement({ ...options.confine, root: dirname(folder) }),
    onChange,
    onPhase,
    moreEnvironment: fakeDevices && ((spec) => fakeDevices.environmentFor(spec, supervisor.all())),
  })
  await supervisor.adopt({ isClean })
  const frozen = watchFrozenEngines({ replicas: () => supervisor.all(), workOf: workOfEach, clock, log })
  life.own('watch over engines', () => frozen.dispose())
  return { supervisor, engines, files, pulls: new Pulls(files, clock), logs, readLogs: logsHandler(logs, clock) }
}

/** An unknown figure counts as 0: refusing a download is better than filling the disk. */
async function freeBytesAt(folder: string): Promise<{ free: number; total: number }> {
  const disk = await measureDisk(realSystem, folder)
  return disk.ok ? { free: disk.value.availableBytes, total: disk.value.totalBytes } : { free: 0, total: 0 }
}
