import type { Bus } from '../../bus/bus.ts'
import type { Model, World } from '../../core/types.ts'
import type { Hub } from '../../model-files/source/hub.ts'
import { unlessAborted } from '../../model-files/source/unless-aborted.ts'
import type { Clock } from '../../platform/run/clock.ts'
import { AppError, messageOf } from '../../platform/errors.ts'
import type { Logger } from '../../platform/run/log.ts'
import type { StoredFacts } from '../../store/nouns/model-facts.ts'
import { nodesThatMayTell, readFacts, type FactsRead } from './read-facts.ts'

export interface ModelFactsDeps {
  /** Writes them if we still lead. Of a model that has been edited meanwhile they are read again. */
  save: (facts: StoredFacts) => Promise<void>
  bus: Pick<Bus, 'request'>
  hub: Hub
  modelsFolder: string
  clock: Clock
  log: Logger
  random: () => number
  /** Called when facts were saved. */
  onChange: () => void
}

export type FactsWorld = Pick<World, 'nowMs' | 'models' | 'nodes'> & { facts: readonly StoredFacts[] }

export interface ModelFactsReader {
  /** Reads in the background what is missing. To be called after each turn; costs next to nothing when all is known. */
  look(world: FactsWorld): void
  /** What is being read is given up. */
  dispose(): Promise<void>
}

/** Models read at the same time: their files are remote, and only placement waits for them. */
const AT_ONCE = 2
const READ_WITHIN_MS = 30_000
const FIRST_RETRY_MS = 60_000
const MOST_RETRY_MS = 3_600_000
const MOST_REMEMBERED = 1000

/** Reads what the files of models say, for revisions without facts. */
export function startModelFacts(deps: ModelFactsDeps): ModelFactsReader {
  const { clock } = deps
  const over = new AbortController()
  /** By the model's name, so that an older revision is never written after a newer one. */
  const reading = new Map<string, Promise<void>>()
  /** Failures in a row, by the model's name. Forgotten at a restart: the first wait is short. */
  const failures = new Map<string, { revision: string; count: number }>()

  const readOne = async (model: Model, world: FactsWorld): Promise<void> => {
    const startedMs = clock.nowMs()
    const outcome = await attempt(model, world, deps, over.signal)
    if (over.signal.aborted) return
    const before = failures.get(model.name)
    const count = (before?.revision === model.revision ? before.count : 0) + 1
    if (failures.size >= MOST_REMEMBERED) failures.clear()
    if ('problem' in outcome) failures.set(model.name, { revision: model.revision, count })
    else failures.delete(model.name)
    // By the store's clock, which may not be ours.
    const nowMs = world.nowMs + clock.nowMs() - startedMs
    await deps.save(toStored(model, outcome, nowMs + retryDelay(count)))
    if ('problem' in outcome) deps.log.warn({ model: model.name, problem: outcome.problem }, 'model facts: not read')
    deps.onChange()
  }

  return {
    look(world) {
      if (over.signal.aborted) return
      for (const model of missing(world)) {
        if (reading.size >= AT_ONCE) return
        if (reading.has(model.name)) continue
        const work = readOne(model, world).catch((error: unknown) => {
          deps.log.warn({ model: model.name, error: messageOf(error) }, 'model facts: not saved')
        })
        reading.set(model.name, work)
        void work.finally(() => reading.delete(model.name))
      }
    },
    async dispose() {
      over.abort(new AppError('unavailable', 'This frontend is stopping.'))
      await Promise.all(reading.values())
    },
  }
}

/** Files that are on nodes alone wait for a node that can be asked. */
function missing(world: FactsWorld): Model[] {
  const { nowMs, models, facts } = world
  const known = new Map(facts.map((one) => [one.modelName, one]))
  return models.filter((model) => {
    if (model.source === null) return false
    const have = known.get(model.name)
    const isDue = have?.revision !== model.revision || (have.retryAtMs !== null && have.retryAtMs <= nowMs)
    return isDue && (!model.source.startsWith('file:') || nodesThatMayTell(model, world.nodes).length > 0)
  })
}

async function attempt(
  model: Model,
  { nodes }: FactsWorld,
  deps: ModelFactsDeps,
  over: AbortSignal,
): Promise<FactsRead | { problem: string }> {
  const late = new AbortController()
  const seconds = READ_WITHIN_MS / 1000
  const cancel = deps.clock.after(READ_WITHIN_MS, () =>
    late.abort(new AppError('timeout', `Its files could not be read within ${seconds} s.`)),
  )
  const signal = AbortSignal.any([over, late.signal])
  try {
    // Neither the bus nor a drive over the network can be told to stop waiting.
    return await unlessAborted(readFacts(model, nodes, deps, signal), signal)
  } catch (error) {
    if (error instanceof AppError) return { problem: error.message }
    // An unforeseen error may name a secret: it goes to the log only.
    deps.log.error({ model: model.name, err: error }, 'model facts: failed')
    return { problem: 'Its files could not be read; the log of the frontend has the cause.' }
  } finally {
    cancel()
  }
}

function retryDelay(failures: number): number {
  return Math.min(MOST_RETRY_MS, FIRST_RETRY_MS * 2 ** (failures - 1))
}

function toStored(
  { name: modelName, revision }: Model,
  outcome: FactsRead | { problem: string },
  retryAtMs: number,
): StoredFacts {
  if ('problem' in outcome) {
    return { modelName, revision, payloadBytes: null, header: null, problem: outcome.problem, retryAtMs }
  }
  return { modelName, revision, ...outcome, problem: null, retryAtMs: null }
}
