import { holdsReplicas } from '../../core/nodes/availability.ts'
import { stat } from 'node:fs/promises'
import { join, posix } from 'node:path'
import { fromHeaderMessage } from '../../api/header-message.ts'
import type { Bus } from '../../bus/bus.ts'
import type { Model, ModelFacts, Node } from '../../core/types.ts'
import { localBytes } from '../../model-files/header/byte-source.ts'
import { localModel } from '../../model-files/header/local-model.ts'
import { inspectModel, type Inspected } from '../../model-files/header/inspect.ts'
import type { ModelFile } from '../../model-files/header/model-file.ts'
import { remoteModel } from '../../model-files/header/remote-model.ts'
import type { Hub } from '../../model-files/source/hub.ts'
import { parseSource } from '../../model-files/source/source.ts'
import { splitParts } from '../../model-files/source/split-parts.ts'
import type { Clock } from '../../platform/run/clock.ts'
import { AppError } from '../../platform/errors.ts'
import type { Logger } from '../../platform/run/log.ts'
import { findBelow, listFiles } from './models-folder.ts'

export type FactsRead = Pick<ModelFacts, 'payloadBytes' | 'header'>

export interface ReadFactsDeps {
  bus: Pick<Bus, 'request'>
  hub: Hub
  modelsFolder: string
  clock: Clock
  log: Logger
  random: () => number
}

const NODES_ASKED = 3
const ANSWER_WITHIN_MS = 18_000

/** What the files of a model say: read from where nodes would fetch them, or by a node that has them. */
export async function readFacts(
  { engine, source, options }: Pick<Model, 'engine' | 'source' | 'options'>,
  nodes: readonly Node[],
  deps: ReadFactsDeps,
  signal: AbortSignal,
): Promise<FactsRead> {
  const asked = { source: source ?? '', options }
  const remote = await inspectModel(asked, (text, signal) => findFiles(text, deps, signal), signal)
  if (!asked.source.startsWith('file:')) return { payloadBytes: remote.bytes, header: remote.header }
  const local = await askNodes(asked, nodesThatMayTell({ engine }, nodes), deps, signal)
  return together(local, remote)
}

/** If any node has the files, it is one that could run the model. */
export function nodesThatMayTell({ engine }: Pick<Model, 'engine'>, nodes: readonly Node[]): Node[] {
  return nodes.filter(
    (node) => holdsReplicas(node) && node.liveness === 'online' && node.engines[engine]?.whyNot === null,
  )
}

async function findFiles(text: string, deps: ReadFactsDeps, signal: AbortSignal): Promise<ModelFile[] | undefined> {
  const source = parseSource(text)
  // What comes with the program is here as well.
  if (source.kind === 'local') return text.startsWith('bundled:') ? localModel(source.path) : undefined
  if (source.kind === 'frontend') return belowModelsFolder(deps.modelsFolder, source.path)
  return remoteModel(source, deps, signal)
}

/** Each part is looked up for itself, since each may be a link of its own; it is known by the name that was asked for. */
async function belowModelsFolder(folder: string, path: string): Promise<ModelFile[]> {
  const found = await Promise.all(
    splitParts(path).map(async (part) => {
      const { kind, path: real } = await findBelow(folder, part)
      if (kind === 'file')
        return [{ path: posix.basename(part), bytes: localBytes(real, (await stat(real)).size, part) }]
      const { files } = await listFiles(folder, real)
      return files.map(({ path, size }) => ({ path, bytes: localBytes(join(real, path), size, `${part}/${path}`) }))
    }),
  )
  return found.flat()
}

async function askNodes(
  asked: { source: string; options: Model['options'] },
  nodes: readonly Node[],
  { bus }: ReadFactsDeps,
  signal: AbortSignal,
): Promise<FactsRead> {
  let last: AppError | undefined
  for (const { id: nodeId, name } of nodes.slice(0, NODES_ASKED)) {
    signal.throwIfAborted()
    try {
      const reply = await bus.request('modelInspect', asked, { nodeId, timeoutMs: ANSWER_WITHIN_MS })
      return { payloadBytes: reply.payload_bytes, header: reply.header && fromHeaderMessage(reply.header) }
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      last = new AppError(error.code, `On ${name}: ${error.message}`, { cause: error })
    }
  }
  throw last ?? new AppError('unavailable', 'No node that could run it is online.')
}

/** What the node has, and what its options name elsewhere. */
function together({ header, payloadBytes }: FactsRead, { bytes, besideBytes }: Inspected): FactsRead {
  return {
    payloadBytes: payloadBytes === null || bytes === null ? null : payloadBytes + bytes,
    header: header && { ...header, projectorBytes: header.projectorBytes + (besideBytes ?? 0) },
  }
}
