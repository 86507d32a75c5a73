import { engineProfile, type EngineProfile } from '../../src/api/engine-profile.ts'
import { sleep } from '../../src/platform/run/clock.ts'
import { AppError } from '../../src/platform/errors.ts'
import type { ReplicaDeps } from '../../src/worker/replicas/launch.ts'
import type { SimProcess } from '../ground/sim-process.ts'
import { engineKinds } from '../model-kinds.ts'
import type { Random } from '../random.ts'
import type { Machine } from './machine.ts'

const KILL_AFTER_S = 5

const profiles = new Map<string, EngineProfile>(
  Object.entries(engineKinds).map(([name, kind]) => [
    name,
    engineProfile.parse({
      name,
      command: ['sim-engine', '--port={{port}}'],
      options: 'none',
      model: 'none',
      ready: { http: '/health' },
      listens: 'elsewhere',
      stop: { kill_after_s: KILL_AFTER_S },
      ...kind,
    }),
  ]),
)

/** The engines that are installed on a machine. */
export function simEngines(machine: Machine): ReplicaDeps['engines'] {
  return {
    find: (name) => profiles.get(name),
    async ensure() {
      if (machine.hasProgram) return '/usr/bin/sim-engine'
      throw new AppError('unavailable', 'sim-engine is not in PATH')
    },
  }
}

/** Of each model that is not on the machine's disk yet. */
const MOST_STAGING_MS = 6000
const TELL_EVERY_MS = 1500
const MODEL_BYTES = 2 ** 30

/** The files of models: fetched once for each, unless the disk is full. */
export function simFiles(machine: Machine, { clock }: SimProcess, random: Random): ReplicaDeps['files'] {
  return {
    async stage({ modelName, options }, { signal, onProgress }) {
      const staged = { options, modelPath: undefined, bytes: 0, release: () => {} }
      if (machine.staged.has(modelName)) return staged
      let leftMs = random.between(10, MOST_STAGING_MS)
      while (leftMs > 0) {
        if (machine.isDiskFull) throw machine.diskFull()
        await sleep(clock, Math.min(leftMs, TELL_EVERY_MS), signal)
        signal.throwIfAborted()
        leftMs -= TELL_EVERY_MS
        const share = 1 - Math.max(0, leftMs) / MOST_STAGING_MS
        const done = { file: modelName, done_bytes: Math.floor(share * MODEL_BYTES), bytes_per_s: null }
        onProgress({ ...done, total_bytes: MODEL_BYTES })
      }
      machine.staged.add(modelName)
      return staged
    },
  }
}
