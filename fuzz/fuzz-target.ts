import { Worker } from 'node:worker_threads'
import type { ThreadOrder, ThreadWord } from './fuzz-thread.ts'
import type { FuzzTarget } from './target.ts'
import { caseAt, seedOfBatch, type Finding } from './try-cases.ts'

export interface FuzzLimits {
  /** Cases between two looks at the time. */
  batch: number
  /** For a batch: a hundred times what the slowest of them takes, so that a busy machine is not taken for a hang. */
  batchMs: number
  heapMiB: number
}

export const fuzzLimits: FuzzLimits = { batch: 10_000, batchMs: 300_000, heapMiB: 512 }

export interface FuzzRun {
  name: string
  cases: number
  ms: number
  finding: Finding | undefined
}

/** Tries one target in a thread and watches it: no batch may take too long, and none more memory than there is for it. */
export async function fuzzTarget(
  target: FuzzTarget,
  { targets, cases, seed }: { targets: string; cases: number; seed: number },
  limits: FuzzLimits = fuzzLimits,
): Promise<FuzzRun> {
  const begun = new Int32Array(new SharedArrayBuffer(4))
  const batches = batchesOf(cases, limits.batch)
  const workerData: ThreadOrder = { targets, name: target.name, seed, batches, begun }
  const thread = new Worker(new URL('fuzz-thread.ts', import.meta.url), {
    workerData,
    resourceLimits: { maxOldGenerationSizeMb: limits.heapMiB },
  })
  const startMs = performance.now()
  let done = 0
  let batch = 0
  let finding: Finding | undefined
  await new Promise<void>((resolve) => {
    const atHand = (why: string): Finding => {
      const index = Math.max(0, Atomics.load(begun, 0) - 1)
      return { bytes: caseAt(target, seedOfBatch(seed, batch), Math.min(index, limits.batch - 1)), why }
    }
    const watch = (): NodeJS.Timeout =>
      setTimeout(() => {
        finding = atHand(`did not end: a batch took more than ${limits.batchMs} ms`)
        void thread.terminate()
      }, limits.batchMs)
    // Not before it says a word: to load what it needs may take longer than a batch.
    let timer: NodeJS.Timeout | undefined
    thread.on('message', (word: ThreadWord) => {
      clearTimeout(timer)
      timer = watch()
      if (word.kind === 'finding') finding = { bytes: Buffer.from(word.bytes), why: word.why }
      if (word.kind !== 'batch') return
      done += word.count
      batch += 1
    })
    thread.on('error', (error) => (finding ??= atHand(`ended its thread: ${String(error)}`)))
    thread.on('exit', () => {
      clearTimeout(timer)
      // With nothing left to do and no answer: somebody waits for what never comes.
      if (done < cases) finding ??= atHand('was never answered')
      resolve()
    })
  })
  return { name: target.name, cases: done, ms: performance.now() - startMs, finding }
}

function batchesOf(cases: number, batch: number): number[] {
  return Array.from({ length: Math.ceil(cases / batch) }, (_, i) => Math.min(batch, cases - i * batch))
}
