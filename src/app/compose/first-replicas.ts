import { progressText } from '../../cli/terminal/progress.ts'
import { loadStatusOf } from '../../core/explain/load-status.ts'
import { isOnTheWay } from '../../core/lifecycle/states.ts'
import type { PlacePolicy } from '../../core/placement/types.ts'
import { sleep, type Clock } from '../../platform/run/clock.ts'
import type { Frontend } from './start-frontend.ts'
import type { Database } from '../../store/sql.ts'
import { listModels } from '../../store/nouns/models.ts'
import { listReplicas, type StoredReplica } from '../../store/nouns/replicas.ts'
import { listRules } from '../../store/nouns/rules.ts'
import { loadWorld } from '../../store/world/world.ts'

/** The banner waits this long for the first replica, so that the command it prints works when pasted. */
const FIRST_REPLICA_MS = 10_000
/** The installation of an engine, which happens once, may take this long; a person would not wait longer. */
const INSTALLED_WITHIN_MS = 15 * 60_000
/** A model without a replica by then waits for something that may never come, such as another machine. */
const PLACED_WITHIN_MS = 1500
const POLL_MS = 20
/** The minimum interval between two progress lines of an installation. */
const TELL_MS = 2000

export interface FirstReplicas {
  /** Models that answer. */
  serving: string[]
  /** Models that should be running and do not answer, with the reason. */
  absent: Absent[]
}

export interface Absent {
  model: string
  why: string
}

export interface WaitDeps {
  clock: Clock
  placement: PlacePolicy
  /** Prints a line for the person at the terminal. */
  say: (line: string) => void
}

/**
 * Waits until every model with a rule answers, within limits. It asks the store as well as the gateway: after a crash
 * the gateway may for a moment know replicas of the last run.
 */
export async function firstReplicas({ db, gateway }: Frontend, deps: WaitDeps): Promise<FirstReplicas> {
  const { clock } = deps
  const rules = await listRules(db)
  const kept = rules.filter((rule) => rule.min_replicas > 0 || rule.spread_all).map((rule) => rule.model_name)
  const tell = installationTeller(deps)
  const beganMs = clock.nowMs()
  let giveUpMs = beganMs + FIRST_REPLICA_MS
  for (;;) {
    const replicas = await listReplicas(db)
    const isServing = (modelName: string): boolean =>
      replicas.some((one) => one.modelName === modelName && one.state === 'ready') &&
      gateway.readyReplicas(modelName) > 0
    const missing = kept.filter((modelName) => !isServing(modelName))
    const coming = replicas.filter(
      ({ modelName, state }) => missing.includes(modelName) && (isOnTheWay(state) || state === 'ready'),
    )
    const nowMs = clock.nowMs()
    const isOver = coming.length === 0 && nowMs - beganMs >= PLACED_WITHIN_MS
    const installing = coming.find(({ state, progress }) => state === 'installing' && progress !== null)
    if (installing) {
      giveUpMs = Math.min(nowMs + FIRST_REPLICA_MS, beganMs + INSTALLED_WITHIN_MS)
      tell(installing)
    }
    if (missing.length === 0 || isOver || nowMs >= giveUpMs) {
      return { serving: kept.filter((name) => !missing.includes(name)), absent: await reasons(db, missing, deps) }
    }
    await sleep(clock, POLL_MS)
  }
}

/** A model to try meanwhile when no other answers: the simulator, which its first request loads. */
export async function standIn(db: Database, absent: readonly Absent[]): Promise<string[]> {
  if (absent.length === 0) return []
  const sim = (await listModels(db)).find(({ engine }) => engine === 'sim')
  return sim ? [sim.name] : []
}

function installationTeller({ clock, say }: WaitDeps): (replica: StoredReplica) => void {
  let told = ''
  let toldMs = -Infinity
  return ({ modelName, progress }) => {
    const far = progress ? progressText({ ...progress, bytes_per_s: null }) : ''
    const line = `Installing the engine of ${modelName} (once)${far === '' ? '' : `: ${far}`}`
    if (line === told || clock.nowMs() - toldMs < TELL_MS) return
    told = line
    toldMs = clock.nowMs()
    say(line)
  }
}

async function reasons(db: Database, missing: readonly string[], { placement }: WaitDeps): Promise<Absent[]> {
  if (missing.length === 0) return []
  const world = await db.transaction(loadWorld)
  return missing.map((model) => {
    const { state, reason } = loadStatusOf(world, model, placement)
    return { model, why: reason ?? (state === 'loading' ? 'It is being loaded.' : '') }
  })
}
