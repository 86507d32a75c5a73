import { expect, test } from 'vitest'
import { until } from '../../test/support/until.ts'
import { Batcher } from './batcher.ts'
import type { Draft, Job } from './draft.ts'
import type { Native, NativeContext, NativeSampler } from './native/native.ts'
import { Sequences } from './sequences.ts'

const END = 0
const forever = new AbortController().signal

/** A model that goes on counting from the last token it was given. The end follows on 100, and nothing on 666. */
class CountingContext implements NativeContext {
  /** For each step the sequences in it, with how many tokens of each. */
  readonly steps: string[] = []
  failsNext = false
  readonly #logits: number[] = []
  #step: string[] = []
  #tokens = 0
  disposed = 0
  sampling = 0

  initBatch(): void {
    this.#logits.length = 0
    this.#step = []
    this.#tokens = 0
  }

  addToBatch(sequence: number, from: number, tokens: Uint32Array, withLogits: Uint32Array): Uint32Array {
    this.#step.push(`${sequence}@${from}+${tokens.length}`)
    const start = this.#tokens
    this.#tokens += tokens.length
    for (const index of withLogits) this.#logits[start + index] = tokens[index]!
    return withLogits.map((index) => start + index)
  }

  async decodeBatch(): Promise<void> {
    this.steps.push(this.#step.join(' '))
    await new Promise((resolve) => setImmediate(resolve))
    if (!this.failsNext) return
    this.failsNext = false
    throw new Error('no memory')
  }

  sampleToken(logits: number, sampler: NativeSampler): Promise<number>
  sampleToken(logits: number, sampler: NativeSampler, probabilities: true): Promise<[number, number[] | undefined]>
  // Both kinds of answer are one implementation.
  async sampleToken(logits: number, _: NativeSampler, probabilities?: true): Promise<never> {
    this.sampling += 1
    await new Promise((resolve) => setImmediate(resolve))
    this.sampling -= 1
    const last = this.#logits[logits]!
    const token = last === 100 ? END : last === 666 ? -1 : last + 1
    return (probabilities ? [token, [token, 1]] : token) as never
  }

  removeTokenCellsFromSequence = (): boolean => true
  disposeSequence = (): void => {}
  getSequenceKvCacheMinPosition = (): number => 0
}

function aBatcher({ parallel = 2, batchTokens = 8, isInOrder = false } = {}) {
  const context = new CountingContext()
  const dispose = (): void => {
    expect(context.sampling).toBe(0)
    context.disposed += 1
  }
  const native: Native = { context, createSampler: () => ({ applyConfig: () => {}, dispose }) }
  const sequences = new Sequences(context, parallel)
  return {
    context,
    batcher: new Batcher({ native, sequences, batchTokens, isEnd: (token) => token === END, isInOrder }),
  }
}

function aJob(prompt: number[], job: Partial<Job> = {}): Job {
  const sampling = { temperature: 0, topK: 40, topP: 1, minP: 0, seed: 1 }
  return { prompt, maxTokens: 5, ignoreEnd: false, wantsProbabilities: false, sampling, ...job }
}

async function readAll(batcher: Batcher, draft: Draft): Promise<number[]> {
  const tokens: number[] = []
  try {
    for (let next = await draft.next(); next; next = await draft.next()) tokens.push(next.token)
  } finally {
    batcher.leave(draft)
  }
  return tokens
}

for (const isInOrder of [false, true]) {
  test(`answers end at their limit or where the model ends them, ${isInOrder ? 'in order' : 'one after another'}`, async () => {
    const { batcher, context } = aBatcher({ isInOrder })
    const drafts = [aJob([7, 8]), aJob([97, 98])].map((job) => batcher.start(job, forever))
    const answers = await Promise.all(drafts.map((draft) => readAll(batcher, draft)))
    expect(answers).toEqual([
      [9, 10, 11, 12, 13],
      [99, 100],
    ])
    await until(() => context.disposed === 2)
  })

  test(`a step that fails is told to who was in it, and the next ones work, ${isInOrder ? 'in order' : 'one after another'}`, async () => {
    const { batcher, context } = aBatcher({ isInOrder })
    context.failsNext = true
    const drafts = [aJob([20]), aJob([30])].map((job) => readAll(batcher, batcher.start(job, forever)))
    const failed = { status: 'rejected', reason: { message: 'no memory' } }
    expect(await Promise.allSettled(drafts)).toMatchObject([failed, failed])
    expect(await readAll(batcher, batcher.start(aJob([20, 21]), forever))).toEqual([22, 23, 24, 25, 26])
  })
}

test('one for whom no token can be chosen fails alone', async () => {
  const { batcher } = aBatcher()
  const failing = readAll(batcher, batcher.start(aJob([665]), forever))
  const other = readAll(batcher, batcher.start(aJob([50]), forever))
  await expect(failing).rejects.toThrow('no token')
  expect(await other).toEqual([51, 52, 53, 54, 55])
})

test('a long prompt is read in parts beside an answer that is being written', async () => {
  const { batcher, context } = aBatcher({ batchTokens: 4 })
  const writing = batcher.start(aJob([1], { maxTokens: 6 }), forever)
  await writing.next()
  const prompt = Array.from({ length: 9 }, (_, index) => 40 + index)
  const reading = readAll(batcher, batcher.start(aJob(prompt, { maxTokens: 1 }), forever))
  expect(await readAll(batcher, writing)).toEqual([3, 4, 5, 6, 7])
  expect(await reading).toEqual([49])
  const shared = context.steps.filter((step) => step.includes(' '))
  expect(shared.slice(0, 3).map((step) => step.replaceAll(/@\d+/g, ''))).toEqual(['0+1 1+3', '0+1 1+3', '0+1 1+3'])
})

test('rows are in the order of their sequences, whoever came first', async () => {
  const { batcher, context } = aBatcher({ parallel: 3 })
  const first = batcher.start(aJob([1], { maxTokens: 2 }), forever)
  const others = [aJob([20]), aJob([30])].map((job) => readAll(batcher, batcher.start(job, forever)))
  await readAll(batcher, first)
  const late = readAll(batcher, batcher.start(aJob([60]), forever))
  await Promise.all([...others, late])
  for (const step of context.steps) {
    const ids = step.split(' ').map((row) => Number(row.split('@')[0]))
    expect(ids).toEqual(ids.toSorted((a, b) => a - b))
  }
  expect(context.steps.some((step) => step.split(' ').length === 3)).toBe(true)
})

test('a client that goes away in the middle of its prompt is not computed for any further', async () => {
  const { batcher, context } = aBatcher({ batchTokens: 2 })
  const gone = new AbortController()
  const prompt = Array.from({ length: 1000 }, (_, index) => index + 1)
  const reading = readAll(batcher, batcher.start(aJob(prompt), gone.signal))
  await until(() => context.steps.length > 3)
  gone.abort()
  expect(await reading).toEqual([])
  await until(() => context.disposed === 1)
  expect(context.steps.length).toBeLessThan(500)
})

test('nothing is written far ahead of a reader that does not read', async () => {
  const { batcher, context } = aBatcher()
  const slow = batcher.start(aJob([1], { maxTokens: 60 }), forever)
  const other = aJob([200], { maxTokens: 50 })
  expect(await readAll(batcher, batcher.start(other, forever))).toHaveLength(50)
  expect(context.steps.filter((step) => step.includes('0@')).length).toBeLessThan(20)
  expect(await readAll(batcher, slow)).toHaveLength(60)
})

test('what came before is remembered by the next prompt that begins with it', async () => {
  const { batcher, context } = aBatcher()
  await readAll(batcher, batcher.start(aJob([1, 2, 3]), forever))
  const next = batcher.start(aJob([1, 2, 3, 4, 5, 6, 7, 50], { maxTokens: 1 }), forever)
  expect(await readAll(batcher, next)).toEqual([51])
  // Prompt and answer but its last token, which nothing was computed from.
  expect(next.cachedTokens).toBe(7)
  expect(context.steps.at(-1)).toBe('0@7+1')
})

test('probabilities are there when asked for', async () => {
  const { batcher } = aBatcher()
  const draft = batcher.start(aJob([1], { wantsProbabilities: true }), forever)
  expect(await draft.next()).toEqual({ token: 2, probabilities: [2, 1] })
  batcher.leave(draft)
})

test('work in another context has a turn of its own', async () => {
  const { batcher, context } = aBatcher()
  const writing = readAll(batcher, batcher.start(aJob([1], { maxTokens: 30 }), forever))
  const during = await batcher.alone(async () => {
    const before = context.steps.length
    await new Promise((resolve) => setImmediate(resolve))
    return context.steps.length - before
  })
  expect(during).toBe(0)
  expect(await writing).toHaveLength(30)
  await expect(batcher.alone(() => Promise.reject(new Error('full')))).rejects.toThrow('full')
})
