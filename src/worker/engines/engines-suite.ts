import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished } from 'vitest'
import type { ReportedEngineMessage } from '../../api/bus/messages.ts'
import { reportedEngine } from '../../api/reports.ts'
import { systemClock } from '../../platform/run/clock.ts'
import { silentLogger } from '../../platform/run/log.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { until } from '../../../test/support/until.ts'
import { Engines, type EnginesOptions } from './engines.ts'
import { archiveAt, tarGzOf } from './testing/build-archive.ts'

/** A node with nothing on it but a folder in PATH. */
export function aNode(options: Partial<EnginesOptions> = {}) {
  const root = tempFolder()
  const folders = { folder: join(root, 'engines'), profilesFolder: join(root, 'profiles'), bin: join(root, 'bin') }
  mkdirSync(folders.profilesFolder)
  mkdirSync(folders.bin)
  const node = {
    ...folders,
    root,
    fetched: 0,
    released: 0,
    changes: 0,
    stopCalls: [] as string[],
    replicas: { stopped: [] as string[], survivors: [] as string[] },
    open(): Engines {
      const engines = Engines.open({
        folder: folders.folder,
        profilesFolder: folders.profilesFolder,
        async fetchArchive(url) {
          node.fetched += 1
          return { path: fileURLToPath(url), release: () => void (node.released += 1) }
        },
        async stopReplicas(engine) {
          node.stopCalls.push(engine)
          return node.replicas
        },
        clock: systemClock,
        log: silentLogger,
        onChange: () => void (node.changes += 1),
        env: { PATH: folders.bin, FLOTILLA_TOKEN: 'secret' },
        ...options,
      })
      onTestFinished(() => engines.dispose())
      return engines
    },
    profile(name: string, rest = ''): void {
      const text = `name: ${name}\ncommand: [${name}-server]\nready: { port: true }\n${rest}`
      writeFileSync(join(folders.profilesFolder, `${name}.yaml`), text)
    },
    program(name: string, text = '#!/bin/sh\n'): string {
      writeFileSync(join(folders.bin, name), text, { mode: 0o755 })
      return join(folders.bin, name)
    },
    archive(name: string, says: string, path = 'bin/vllm'): { url: string; sha256: string } {
      return archiveAt(join(root, name), tarGzOf([{ path, content: `#!/bin/sh\necho ${says}\n` }]))
    },
  }
  return node
}

export function reportOf(engines: Engines, name: string): ReportedEngineMessage {
  const report = engines.report().find((engine) => engine.name === name)
  expect(report).toBeDefined()
  return reportedEngine.parse(report)
}

/** The engine's report once its operation has finished. */
export async function finished(engines: Engines, name: string): Promise<ReportedEngineMessage> {
  await until(() => reportOf(engines, name).operation?.state !== 'running')
  return reportOf(engines, name)
}

/** What the installed program of an engine prints. */
export function says(engines: Engines, name: string): string {
  return execFileSync(engines.program(engines.find(name)!)!, { encoding: 'utf8' }).trim()
}

/** A fetch that ends only by being aborted. */
export function untilAborted(_url: string, _sha256: string, { signal }: { signal: AbortSignal }): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
}

export const failure = (part: string | RegExp) => ({
  state: 'failed',
  error: typeof part === 'string' ? expect.stringContaining(part) : expect.stringMatching(part),
})
