import type { MessageOf } from '../../api/bus/subjects.ts'
import type { LoadStatus } from '../../api/load-status.ts'
import type { PlacePolicy } from '../../core/placement/types.ts'
import type { Plan } from '../../core/reconcile/plan.ts'
import type { Database } from '../../store/sql.ts'
import { saveDemand } from '../../store/nouns/demands.ts'
import type { StoredWorld } from '../../store/world/world.ts'
import { loadStatusOf } from '../../core/explain/load-status.ts'

export interface ColdLoadDeps {
  db: Database
  policy: PlacePolicy
  onChange: () => void
}

/** A demand is written again when it would last this much longer: many gateways ask every few seconds. */
const LONGER_MS = 10_000

/**
 * Records that a gateway waits for a model, and answers how far it is. The demand is in the store, so that a load survives
 * a failover; the answer comes from the world after the last turn, so that asking is cheap.
 */
export class ColdLoads {
  readonly #deps: ColdLoadDeps
  /** Being written, by model: asked by several gateways at once, it is written once. */
  readonly #saving = new Map<string, Promise<void>>()

  constructor(deps: ColdLoadDeps) {
    this.#deps = deps
  }

  async want(
    { model_name: name, wanted_ms: wantedMs }: MessageOf<'modelWanted'>,
    world: StoredWorld,
    plan?: Plan,
  ): Promise<LoadStatus> {
    const demand = world.demands.find(({ modelName }) => modelName === name)
    const { nowMs } = world
    // Answers as if the demand were written already, so that the gateway need not ask again.
    const wanted = demand ?? { modelName: name, sinceMs: nowMs, wantedUntilMs: nowMs + wantedMs }
    const asWanted = demand ? world : { ...world, demands: [...world.demands, wanted] }
    const status = loadStatusOf(asWanted, name, this.#deps.policy, demand && plan)
    if (status.state === 'ready' || status.state === 'unknown') return status
    const lastsMs = demand ? demand.wantedUntilMs - world.nowMs : 0
    if (lastsMs < wantedMs - LONGER_MS || lastsMs <= 0) await this.#save(name, wantedMs)
    return status
  }

  #save(name: string, wantedMs: number): Promise<void> {
    const saving = this.#saving.get(name)
    if (saving) return saving
    const save = this.#deps.db
      .transaction((tx) => saveDemand(tx, name, wantedMs))
      .then(() => this.#deps.onChange())
      .finally(() => this.#saving.delete(name))
    this.#saving.set(name, save)
    return save
  }
}
