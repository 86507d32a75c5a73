import { expect, test } from 'vitest'
import { Sequences } from './sequences.ts'

/** Memory that can forget a part, or not, and has kept its beginning, or not. */
function aMemory({ canForgetPart = true, firstPosition = 0 } = {}) {
  const calls: string[] = []
  return {
    calls,
    removeTokenCellsFromSequence(id: number, from: number) {
      calls.push(`${id} from ${from}`)
      return canForgetPart
    },
    disposeSequence: (id: number) => void calls.push(`${id} all`),
    getSequenceKvCacheMinPosition: () => firstPosition,
  }
}

/** Sequences that have read these tokens, the first one longest ago. */
function someSequences(read: number[][], memory = aMemory()): Sequences {
  const sequences = new Sequences(memory, read.length)
  const taken = read.map((tokens) => {
    const sequence = sequences.take([0])!
    sequence.tokens.push(...tokens)
    return sequence
  })
  for (const sequence of taken) sequences.giveBack(sequence)
  memory.calls.length = 0
  return sequences
}

test('a prompt gets the sequence that knows most of it', () => {
  const sequences = someSequences([[], [1, 2], [1, 2, 3, 4]])
  expect(sequences.take([1, 2, 3, 4, 5])).toEqual({ id: 2, tokens: [1, 2, 3, 4] })
})

test('the last token of a prompt is always read again', () => {
  const memory = aMemory()
  expect(someSequences([[1, 2, 3]], memory).take([1, 2, 3])!.tokens).toEqual([1, 2])
  expect(memory.calls).toEqual(['0 from 2'])
})

test('a long memory of something else is not thrown away for a short common beginning', () => {
  const sequences = someSequences([[9], [1, 2, 3, 4, 5, 6, 7, 8]])
  expect(sequences.take([1, 30, 31, 32, 33])!.id).toBe(0)
})

test('of equally good ones the one that was used longest ago is taken', () => {
  const sequences = someSequences([[], []])
  const first = sequences.take([1, 2])!
  expect(first.id).toBe(0)
  sequences.giveBack(first)
  expect(sequences.take([5, 6])!.id).toBe(1)
})

test('a memory that cannot go back, or has lost its beginning, starts anew', () => {
  for (const kind of [{ canForgetPart: false }, { firstPosition: 3 }]) {
    const memory = aMemory(kind)
    expect(someSequences([[1, 2, 3, 4, 5]], memory).take([1, 2, 3, 7])!.tokens).toEqual([])
    expect(memory.calls.at(-1)).toBe('0 all')
  }
})

test('a memory that cannot go back need not when the prompt goes on from it', () => {
  const memory = aMemory({ canForgetPart: false, firstPosition: 3 })
  expect(someSequences([[1, 2, 3, 4, 5]], memory).take([1, 2, 3, 4, 5, 6])!.tokens).toEqual([1, 2, 3, 4, 5])
  expect(memory.calls).toEqual([])
})

test('when none is free there is none', () => {
  const sequences = someSequences([[]])
  sequences.take([1])
  expect(sequences.take([1])).toBeUndefined()
})
