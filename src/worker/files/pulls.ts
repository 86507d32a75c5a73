import type { ModelPullMessage, ProgressMessage } from '../../api/bus/messages.ts'
import type { PullReport } from '../../api/reports.ts'
import type { Clock } from '../../platform/run/clock.ts'
import { AppError, messageOf } from '../../platform/errors.ts'
import type { ModelFiles } from './model-files.ts'

/** More transfers would only share the same line. */
const MOST_RUNNING = 32
/** How long, and how many, results of finished pulls are remembered. */
const REMEMBERED_MS = 10 * 60_000
const MOST_REMEMBERED = 200

interface Pull {
  state: PullReport['state']
  progress: ProgressMessage | null
  error: string | null
  bytes: number | null
  endedAtMs: number | undefined
}

/**
 * Fetches model files before a replica needs them. A caller polls by asking for the same pull again. A pull that is
 * unknown here, because the worker was restarted, starts again and continues from the files that have arrived.
 */
export class Pulls {
  readonly #files: Pick<ModelFiles, 'stage'>
  readonly #clock: Clock
  readonly #pulls = new Map<string, Pull>()

  constructor(files: Pick<ModelFiles, 'stage'>, clock: Clock) {
    this.#files = files
    this.#clock = clock
  }

  pull(message: ModelPullMessage): PullReport {
    const { pull_id: id } = message
    const pull = this.#pulls.get(id) ?? this.#begin(message)
    const { state, progress, error, bytes } = pull
    return { id, state, progress, error, bytes }
  }

  #begin(message: ModelPullMessage): Pull {
    this.#forget()
    const running = [...this.#pulls.values()].filter(({ state }) => state === 'running').length
    if (running >= MOST_RUNNING) {
      throw new AppError(
        'busy',
        `${running} models are being fetched to this node already. Try again when one is done.`,
        {
          retryAfterS: 30,
        },
      )
    }
    const pull: Pull = { state: 'running', progress: null, error: null, bytes: null, endedAtMs: undefined }
    this.#pulls.set(message.pull_id, pull)
    void this.#fetch(message, pull)
    return pull
  }

  /** Ends with the transfers themselves when the worker stops. */
  async #fetch({ model_name: modelName, source, options }: ModelPullMessage, pull: Pull): Promise<void> {
    try {
      const onProgress = (progress: ProgressMessage): void => void (pull.progress = progress)
      const { signal } = new AbortController()
      const staged = await this.#files.stage({ modelName, source, options }, { signal, onProgress })
      staged.release()
      pull.bytes = staged.bytes
      pull.state = 'done'
    } catch (error) {
      pull.error = messageOf(error)
      pull.state = 'failed'
    }
    pull.endedAtMs = this.#clock.nowMs()
  }

  #forget(): void {
    const ended = [...this.#pulls].filter(([, { endedAtMs }]) => endedAtMs !== undefined)
    const keptSinceMs = this.#clock.nowMs() - REMEMBERED_MS
    const surplus = ended.length - MOST_REMEMBERED
    for (const [i, [id, { endedAtMs }]] of ended.entries()) {
      if (i < surplus || endedAtMs! < keptSinceMs) this.#pulls.delete(id)
    }
  }
}
