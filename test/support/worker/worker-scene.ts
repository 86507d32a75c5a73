import { randomUUID } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { ReplicaStartMessage, ReportedReplicaMessage } from '../../../src/api/bus/messages.ts'
import { systemClock } from '../../../src/platform/run/clock.ts'
import { Lifetime } from '../../../src/platform/run/lifetime.ts'
import { silentLogger } from '../../../src/platform/run/log.ts'
import { openReplicas, type Replicas, type ReplicasOptions } from '../../../src/worker/replicas/open-replicas.ts'
import { tempFolder } from '../temp-folder.ts'
import { isAlive } from '../until.ts'

export interface WorkerScene extends Replicas {
  folder: string
  changes: () => number
  /** Sorted by key: what the next heartbeat would say. */
  states: () => Record<string, ReportedReplicaMessage['state']>
  stateOf: (id: string) => ReportedReplicaMessage['state'] | 'gone'
  /** Of all engines that were started below this folder, whoever was told of them. */
  pids: () => number[]
  end: () => Promise<void>
}

export interface SceneOptions {
  folder?: string
  drainMs?: number
  isClean?: boolean
  orphanGraceMs?: number
  /** YAML of further engines. */
  profiles?: string
  enginePorts?: ReplicasOptions['enginePorts']
  confine?: ReplicasOptions['confine']
}

/**
 * Engines that cost next to nothing. Each is known by a number in its command line, which no other process of this
 * machine has.
 */
const lightEngines = (mark: string): string => `
- name: slow
  command: [sh, -c, 'echo loading; until [ -e "$1" ]; do sleep 0.05; done; echo up; exec sleep "$2"', slow, '{{flag}}', '100000.${mark}']
  options: none
  model: none
  ready: { log: ^up }
  listens: elsewhere
- name: chatty
  command: [sh, -c, 'echo up; i=0; while :; do i=$((i+1)); echo "line $i"; sleep 0.01; done', chatty, '100000.${mark}']
  options: none
  model: none
  ready: { log: ^up }
  listens: elsewhere
- name: light
  command: [sh, -c, 'echo up; exec sleep "$1"', light, '100000.${mark}']
  options: none
  model: none
  ready: { log: ^up }
  listens: elsewhere
- name: stubborn
  command: [sh, -c, 'trap "" TERM; echo up; while :; do sleep 1000; done', stubborn, '100000.${mark}']
  options: none
  model: none
  ready: { log: ^up }
  listens: elsewhere
  stop: { kill_after_s: 0.2 }
- name: never
  command: [sh, -c, 'echo I am trying; exec sleep "$1"', never, '100000.${mark}']
  options: none
  model: none
  ready: { log: ^up }
  ready_within_s: 0.5
  listens: elsewhere
- name: open
  command: [node, -e, 'require("http").createServer((q, r) => r.end()).listen(process.argv[1], "0.0.0.0")', '{{port}}', '100000.${mark}']
  options: none
  model: none
  ready: { http: / }
- name: absent
  command: [no-such-program-${mark}]
  model: none
  ready: { port: true }
`

/** A worker's replicas, without a cluster. */
export async function aWorker(options: SceneOptions = {}): Promise<WorkerScene> {
  const folder = options.folder ?? tempFolder()
  const life = new Lifetime(systemClock, (step, problem) => {
    throw new Error(`${step}: ${String(problem)}`)
  })
  let changes = 0
  const onChange = (): void => void (changes += 1)
  const replicas = await openReplicas(replicasOptions(folder, options), NO_FRONTEND, {
    publicKey: 'a key',
    clock: systemClock,
    log: silentLogger,
    life,
    onChange,
    leavesEngines: () => false,
    gpuVendor: () => null,
  })
  const { supervisor } = replicas
  const end = async (): Promise<void> => {
    await supervisor.stopAll()
    await life.end(10_000)
  }
  onTestFinished(end)
  return {
    ...replicas,
    folder,
    changes: () => changes,
    states: () =>
      Object.fromEntries(
        supervisor.report().map(({ model_name: model, replica_index: index, state }) => [`${model}#${index}`, state]),
      ),
    stateOf: (id) => supervisor.report().find((replica) => replica.id === id)?.state ?? 'gone',
    pids: () => enginesBelow(folder),
    end,
  }
}

export const NO_FRONTEND = { locate: () => Promise.reject(new Error('there is no frontend')) }

/** Also writes the profiles of the light engines. */
export function replicasOptions(folder: string, options: SceneOptions): ReplicasOptions {
  const profilesFolder = join(folder, 'profiles')
  mkdirSync(profilesFolder, { recursive: true })
  writeFileSync(join(profilesFolder, 'light.yaml'), lightEngines(markOf(folder)))
  if (options.profiles) writeFileSync(join(profilesFolder, 'more.yaml'), options.profiles)
  return {
    folder: join(folder, 'worker'),
    enginePorts: options.enginePorts ?? { from: 31_000, to: 31_999 },
    limits: { drainMs: options.drainMs ?? 20_000, orphanGraceMs: options.orphanGraceMs ?? 60_000 },
    restartEngines: options.isClean ?? false,
    keepEngines: false,
    confine: options.confine ?? { user: undefined, limits: {} },
    profilesFolder,
    files: {
      quotaBytes: undefined,
      bytesPerSecond: undefined,
      sharedFolder: undefined,
      hfEndpoint: 'http://127.0.0.1:9',
      hfToken: undefined,
      allowSources: ['127.0.0.1'],
      frontendFolder: undefined,
    },
  }
}

let generation = 0

export function aStart(fields: Partial<ReplicaStartMessage> = {}): ReplicaStartMessage {
  generation += 1
  return {
    id: randomUUID(),
    generation,
    model_name: 'm',
    replica_index: 0,
    engine: 'light',
    source: null,
    options: {},
    ...fields,
  }
}

/** The same for the same folder, so that a second worker on it knows the engines of the first. */
function markOf(folder: string): string {
  return String(BigInt(`0x${Buffer.from(folder).toString('hex')}`) % 10n ** 15n)
}

/** The light engines that a worker on this folder has started, whoever was told of them. */
export function enginesBelow(folder: string): number[] {
  const mark = markOf(folder)
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const args = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
        // The shell that waits for the word to become the engine is none yet.
        return args.includes(`100000.${mark}`) && !args.includes('flotilla-engine') && isAlive(pid)
      } catch {
        return false
      }
    })
}
