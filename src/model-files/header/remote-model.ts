import type { AskDeps } from '../source/ask.ts'
import type { Hub } from '../source/hub.ts'
import { resolveHub, resolveUrl } from '../source/resolve.ts'
import type { HubSource, UrlSource } from '../source/source.ts'
import { Turns } from '../source/turns.ts'
import { remoteBytes } from './byte-source.ts'
import type { ModelFile } from './model-file.ts'

/** Few retries: a person waits for the answer. */
const retry = { mostTries: 2, firstDelayMs: 500, mostDelayMs: 2000 }
const STALL_MS = 10_000
const QUESTIONS_AT_ONCE = 4

export interface RemoteModelDeps extends Pick<AskDeps, 'clock' | 'log' | 'random'> {
  hub: Hub
}

/** The files of a remote model, of which only the beginnings are read. */
export async function remoteModel(
  source: UrlSource | HubSource,
  { hub, clock, log, random }: RemoteModelDeps,
  signal: AbortSignal,
): Promise<ModelFile[]> {
  const ask: AskDeps = { clock, log, random, limits: retry, stallMs: STALL_MS, reach: hub.reach }
  const { files } =
    source.kind === 'url'
      ? resolveUrl(source)
      : await resolveHub(source, { ...ask, hub, questions: new Turns(QUESTIONS_AT_ONCE) }, signal)
  return files.map((wanted) => ({ path: wanted.path, bytes: remoteBytes(wanted, ask) }))
}
