import type { ProgressMessage } from '../../api/bus/messages.ts'
import type { Clock } from '../../platform/run/clock.ts'
import type { FileProgress } from './store/fetched.ts'

const PERIOD_MS = 250
/** The rate covers the last few seconds. */
const RATE_SAMPLES = 20

/**
 * Adds up the progress of all files of all sources and reports it at most four times a second. Totals are reported once
 * every source has said which files it has, so that they never grow; the bytes done and the file's number never shrink.
 */
export class ProgressMeter {
  readonly #clock: Clock
  readonly #tell: (progress: ProgressMessage) => void
  readonly #expectedSources: number
  /** The number of files of each source. */
  readonly #sources = new Map<string, number>()
  readonly #files = new Map<string, FileProgress>()
  readonly #samples: { atMs: number; bytes: number }[] = []
  #doneBytes = 0
  #toldDoneBytes = 0
  #totalBytes = 0
  #totalFiles = 0
  #completeFiles = 0
  #toldIndex = 1
  #unknownTotals = 0
  #arrivedBytes = 0
  #file: string | null = null
  #toldAtMs = Number.NEGATIVE_INFINITY
  #cancel: (() => void) | undefined
  #disposed = false

  constructor(clock: Clock, tell: (progress: ProgressMessage) => void, expectedSources = 1) {
    this.#clock = clock
    this.#tell = tell
    this.#expectedSources = expectedSources
  }

  /** `source` distinguishes files of the same name. */
  set(source: string, progress: FileProgress): void {
    const { path, doneBytes, totalBytes, arrivedBytes, ofFiles = 1 } = progress
    const key = `${source}/${path}`
    const before = this.#files.get(key)
    this.#totalFiles += ofFiles - (this.#sources.get(source) ?? 0)
    this.#sources.set(source, ofFiles)
    this.#files.set(key, progress)
    this.#doneBytes += doneBytes - (before?.doneBytes ?? 0)
    this.#totalBytes += (totalBytes ?? 0) - (before?.totalBytes ?? 0)
    this.#unknownTotals += (totalBytes === null ? 1 : 0) - (before?.totalBytes === null ? 1 : 0)
    this.#completeFiles += (isComplete(progress) ? 1 : 0) - (before && isComplete(before) ? 1 : 0)
    // Bytes from before this watch began do not count towards the rate.
    this.#arrivedBytes += Math.max(0, arrivedBytes - (before?.arrivedBytes ?? arrivedBytes))
    if (doneBytes > (before?.doneBytes ?? 0)) this.#file = path
    this.#schedule()
  }

  dispose(): void {
    this.#disposed = true
    this.#cancel?.()
  }

  #schedule(): void {
    if (this.#cancel || this.#disposed) return
    // If the clock is set back, reports must not stop for the same time.
    const waitMs = Math.min(PERIOD_MS, this.#toldAtMs + PERIOD_MS - this.#clock.nowMs())
    if (waitMs <= 0) return this.#tellNow()
    this.#cancel = this.#clock.after(waitMs, () => {
      this.#cancel = undefined
      this.#tellNow()
    })
  }

  #tellNow(): void {
    this.#toldAtMs = this.#clock.nowMs()
    const isListed = this.#sources.size >= this.#expectedSources
    const isWhole = isListed && this.#files.size === this.#totalFiles && this.#unknownTotals === 0
    // A file that is fetched from the beginning again shows no progress for a while, instead of going back.
    this.#toldDoneBytes = Math.max(this.#toldDoneBytes, this.#doneBytes)
    if (isListed) this.#toldIndex = Math.max(this.#toldIndex, Math.min(this.#totalFiles, this.#completeFiles + 1))
    this.#tell({
      file: this.#file,
      done_bytes: this.#toldDoneBytes,
      total_bytes: isWhole ? this.#totalBytes : null,
      bytes_per_s: this.#rate(),
      ...(isListed && { file_index: this.#toldIndex, total_files: this.#totalFiles }),
    })
  }

  #rate(): number | null {
    this.#samples.push({ atMs: this.#toldAtMs, bytes: this.#arrivedBytes })
    if (this.#samples.length > RATE_SAMPLES) this.#samples.shift()
    const [first] = this.#samples
    const passedMs = this.#toldAtMs - first!.atMs
    return passedMs > 0 ? Math.round(((this.#arrivedBytes - first!.bytes) * 1000) / passedMs) : null
  }
}

function isComplete({ doneBytes, totalBytes }: FileProgress): boolean {
  return totalBytes !== null && doneBytes >= totalBytes
}
