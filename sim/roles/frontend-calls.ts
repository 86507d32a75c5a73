import type { Registered } from '../../src/api/admin/schemas.ts'
import { AppError } from '../../src/platform/errors.ts'
import { SPOKEN } from '../../src/platform/peer-versions.ts'
import type { Facts } from '../../src/worker/membership/frontends.ts'
import type { Cluster } from '../cluster.ts'
import type { SimProcess } from '../ground/sim-process.ts'
import type { FrontendProcess } from './frontend-process.ts'
import type { FrontendCalls } from './worker-process.ts'

const ANSWER_WITHIN_MS = 10_000

/** How workers call frontends: each tries one after the other, as src/http/client/any-frontend.ts does. */
export class WorkerCalls {
  readonly #cluster: Cluster

  constructor(cluster: Cluster) {
    this.#cluster = cluster
  }

  /** A way to somewhere and back. */
  hop(process: SimProcess): Promise<void> {
    return new Promise((resolve) => this.#cluster.queue.after(2, () => process.run(resolve)))
  }

  of(process: SimProcess, runId: string): FrontendCalls {
    let first = 0
    const ask = async <T>(act: (frontend: FrontendProcess) => Promise<T>): Promise<T> => {
      const { frontendNames } = this.#cluster
      for (let i = 0; i < frontendNames.length; i += 1) {
        const at = (first + i) % frontendNames.length
        try {
          const answer = await this.#call(process, frontendNames[at]!, act)
          first = at
          return answer
        } catch (error) {
          const isLastWord = error instanceof AppError && error.status < 500 && error.code !== 'busy'
          if (isLastWord && error.code !== 'timeout') throw error
        }
      }
      throw new AppError('unavailable', 'No frontend answers.')
    }
    return {
      register: (facts: Facts): Promise<Registered> =>
        ask((frontend) =>
          frontend.register({ ...facts, protocol: SPOKEN.newest, signed_at: process.clock.nowMs() }, runId),
        ),
      credentials: (nodeId) => ask((frontend) => frontend.credentials(nodeId, runId)),
      deregister: (nodeId, bootId) => ask((frontend) => frontend.deregister(nodeId, bootId, runId)),
    }
  }

  #call<T>(from: SimProcess, to: string, act: (frontend: FrontendProcess) => Promise<T>): Promise<T> {
    const { queue, network } = this.#cluster
    return new Promise((resolve, reject) => {
      let isOpen = true
      const back = (end: () => void): void => {
        if (network.isCut(to, from.name)) return
        queue.after(1, () => from.run(() => settle(end)))
      }
      const settle = (end: () => void): void => {
        if (!isOpen) return
        isOpen = false
        cancel()
        this.#cluster.frontendOf(to)?.process.offDeath(onDeath)
        end()
      }
      const onDeath = (): void => back(() => reject(new AppError('unavailable', `${to}: ECONNRESET`)))
      const cancel = from.clock.after(ANSWER_WITHIN_MS, () =>
        settle(() => reject(new AppError('unavailable', `${to} does not answer`))),
      )
      if (network.isCut(from.name, to)) return
      queue.after(1, () => {
        const frontend = this.#cluster.frontendOf(to)
        if (!frontend) return back(() => reject(new AppError('unavailable', `${to}: ECONNREFUSED`)))
        frontend.process.onDeath(onDeath)
        frontend.process.run(() => {
          act(frontend).then(
            (value) => back(() => resolve(value)),
            (error: Error) => back(() => reject(error)),
          )
        })
      })
    })
  }
}
