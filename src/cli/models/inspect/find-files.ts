import { resolve } from 'node:path'
import { localModel } from '../../../model-files/header/local-model.ts'
import type { ModelFile } from '../../../model-files/header/model-file.ts'
import { remoteModel } from '../../../model-files/header/remote-model.ts'
import type { Hub } from '../../../model-files/source/hub.ts'
import { parseSource, showSource } from '../../../model-files/source/source.ts'
import type { Clock } from '../../../platform/run/clock.ts'
import { AppError } from '../../../platform/errors.ts'
import { silentLogger } from '../../../platform/run/log.ts'
import { plain } from '../../terminal/text-width.ts'

export interface FindDeps {
  hub: Hub
  clock: Clock
}

/** The files that a path on this machine or a source means. */
export async function findFiles(wanted: string, { hub, clock }: FindDeps, signal: AbortSignal): Promise<ModelFile[]> {
  if (!/^[a-z]{2,}:/.test(wanted)) return localModel(resolve(wanted))
  const source = /^(frontend|ollama):/.test(wanted) ? undefined : parseSource(wanted)
  if (!source || source.kind === 'frontend') {
    const text = `${plain(showSource(wanted))} is not on this machine and not on the web`
    throw new AppError(
      'usage',
      `flotilla models inspect: ${text}. Give a path, https://… or hf:organization/repository/file.`,
    )
  }
  if (source.kind === 'local') return localModel(source.path)
  return remoteModel(source, { hub, clock, log: silentLogger, random: Math.random }, signal)
}
