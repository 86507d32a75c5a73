import { parentPort, workerData } from 'node:worker_threads'
import type { FuzzTarget } from './target.ts'
import { seedOfBatch, tryCases } from './try-cases.ts'

/** One target in a thread of its own, batch by batch: a case that does not end, or takes all memory, ends only the thread. */
export interface ThreadOrder {
  /** The module with the targets, for tests that bring their own. */
  targets: string
  name: string
  seed: number
  batches: readonly number[]
  /** How many cases of the batch at hand have begun, for who finds that one does not end. */
  begun: Int32Array
}

export type ThreadWord =
  | { kind: 'begun' }
  | { kind: 'batch'; count: number }
  | { kind: 'finding'; bytes: Uint8Array; why: string }

const { targets, name, seed, batches, begun } = workerData as ThreadOrder
const module = (await import(targets)) as { fuzzTargets: readonly FuzzTarget[] }
const target = module.fuzzTargets.find((one) => one.name === name)!
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
const say = (word: ThreadWord): void => parentPort!.postMessage(word)
say({ kind: 'begun' })
for (const [i, count] of batches.entries()) {
  Atomics.store(begun, 0, 0)
  const finding = await tryCases(target, {
    count,
    seed: seedOfBatch(seed, i),
    onCase: () => void Atomics.add(begun, 0, 1),
  })
  if (finding) {
    say({ kind: 'finding', ...finding })
    break
  }
  say({ kind: 'batch', count })
}
parentPort!.close()
