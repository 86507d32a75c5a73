import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { ReplicaStartMessage } from '../../../src/api/bus/messages.ts'
import { replicasOptions, type SceneOptions } from './worker-scene.ts'

/** A worker's replicas in a process of their own, to be killed. Resolves when it was told to start them. */
export async function aWorkerProcess(
  folder: string,
  specs: readonly ReplicaStartMessage[],
  options: SceneOptions = {},
): Promise<{ kill: () => Promise<void> }> {
  const file = join(folder, 'worker.mjs')
  writeFileSync(file, script(replicasOptions(folder, options), specs))
  const child = spawn(process.execPath, [file], { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL')
    await ended
  }
  onTestFinished(kill)
  await once(child.stdout, 'data')
  return { kill }
}

const at = (path: string): string => JSON.stringify(new URL(path, import.meta.url).href)

function script(options: object, specs: readonly ReplicaStartMessage[]): string {
  return `
import { systemClock as clock } from ${at('../../../src/platform/run/clock.ts')}
import { Lifetime } from ${at('../../../src/platform/run/lifetime.ts')}
import { silentLogger as log } from ${at('../../../src/platform/run/log.ts')}
import { openReplicas } from ${at('../../../src/worker/replicas/open-replicas.ts')}
const life = new Lifetime(clock, () => {})
const frontend = { locate: () => Promise.reject(new Error('there is no frontend')) }
const { supervisor } = await openReplicas(${JSON.stringify(options)}, frontend, { publicKey: 'a key', clock, log, life, onChange() {} })
for (const spec of ${JSON.stringify(specs)}) supervisor.start(spec)
process.stdout.write('started')
setInterval(() => {}, 1000)
`
}
