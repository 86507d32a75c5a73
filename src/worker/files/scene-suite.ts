import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { ProgressMessage } from '../../api/bus/messages.ts'
import { systemClock } from '../../platform/run/clock.ts'
import { AppError } from '../../platform/errors.ts'
import { silentLogger } from '../../platform/run/log.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { until } from '../../../test/support/until.ts'
import type { VirtualClock } from '../../../test/support/virtual-clock.ts'
import type { FrontendFiles } from './frontend-files.ts'
import { ModelFiles, type ModelFilesOptions, type ModelToStage, type StagedModel, type Waiting } from './model-files.ts'

export const GIB = 2 ** 30

/** Model files with defaults: plenty of room, quick retries, no frontend. */
export async function openModelFiles(options: Partial<ModelFilesOptions> = {}): Promise<ModelFiles> {
  const files = await ModelFiles.open({
    folder: tempFolder(),
    hfEndpoint: 'http://127.0.0.1:9',
    allowSources: ['127.0.0.1'],
    frontend: noFrontend,
    freeBytes: async () => ({ free: 100 * GIB, total: 200 * GIB }),
    clock: systemClock,
    log: silentLogger,
    random: () => 0.5,
    ...options,
    limits: { stallMs: 10_000, retry: { mostTries: 3, firstDelayMs: 1, mostDelayMs: 5 }, ...options.limits },
  })
  onTestFinished(() => files.dispose())
  return files
}

const noFrontend: FrontendFiles = {
  async locate() {
    throw new AppError('unavailable', 'no frontend answers')
  },
}

export function stage(
  files: ModelFiles,
  model: Partial<ModelToStage>,
  waiting: Partial<Waiting> = {},
): Promise<StagedModel> {
  const whole = { modelName: 'm', source: null, options: {}, ...model }
  return files.stage(whole, { signal: new AbortController().signal, onProgress: () => {}, ...waiting })
}

/** Advances a virtual clock until the promise has settled. */
export async function drive<T>(clock: VirtualClock, promise: Promise<T>): Promise<T> {
  let isSettled = false
  void promise.catch(() => {}).finally(() => (isSettled = true))
  await until(async () => {
    await clock.advance(100)
    return isSettled
  })
  return promise
}

/** The names in one of the store's folders. */
export function listing(folder: string, inside: 'blobs' | 'manifests' | 'partial' | 'trees'): string[] {
  return existsSync(join(folder, inside)) ? readdirSync(join(folder, inside)).toSorted() : []
}

export function collectProgress(): { told: ProgressMessage[]; onProgress: (progress: ProgressMessage) => void } {
  const told: ProgressMessage[] = []
  return { told, onProgress: (progress) => void told.push(progress) }
}
