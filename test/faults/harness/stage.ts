import { Cluster, WANTED } from './cluster.ts'
import { Load } from './load.ts'
import { whatIsWrong } from './observe.ts'
import { until } from './until.ts'

/** Longer than any fault of the form lasts; a client that has waited for so long waits for nothing. */
const HUNG_AFTER_MS = { short: 60_000, long: 90_000 }
const WELL_WITHIN_MS = 60_000

interface OnStage {
  cluster: Cluster
  load: Load
}

/** A cluster under load, started when it is first needed, and again after it was disposed of. */
export class Stage {
  readonly #isLong: boolean
  #set: Promise<OnStage> | undefined

  constructor(isLong: boolean) {
    this.#isLong = isLong
  }

  ready(): Promise<OnStage> {
    return (this.#set ??= this.#build())
  }

  async dispose(): Promise<void> {
    const set = await this.#set?.catch(() => undefined)
    this.#set = undefined
    if (!set) return
    set.load.stop()
    await set.cluster.dispose()
    await set.load.dispose()
  }

  async #build(): Promise<OnStage> {
    const cluster = await Cluster.start()
    const hungAfterMs = this.#isLong ? HUNG_AFTER_MS.long : HUNG_AFTER_MS.short
    const load = new Load({ gateways: cluster.gateways, models: Object.keys(WANTED), hungAfterMs })
    load.start()
    const sinceMs = performance.now()
    try {
      await until(async () => (await whatIsWrong(cluster, load, sinceMs)).length === 0, WELL_WITHIN_MS, 'all is well')
    } catch (error) {
      load.stop()
      await cluster.dispose()
      throw error
    }
    return { cluster, load }
  }
}
