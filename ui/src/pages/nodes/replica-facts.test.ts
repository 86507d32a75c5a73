import { describe, expect, test } from 'vitest'
import { memoryOfReplica, mostOfOneModel, progressText, shareOf, troubleOf } from './replica-facts.ts'
import { aReplica } from './testing.ts'

const GIB = 1024 ** 3
const none = { file: null, done_bytes: 0, total_bytes: null, bytes_per_s: null }

test('the most replicas of one model are counted without those that failed', () => {
  expect(mostOfOneModel([])).toBe(0)
  expect(
    mostOfOneModel([
      aReplica(),
      aReplica({ replica_index: 1, state: 'loading' }),
      aReplica({ replica_index: 2, state: 'failed' }),
      aReplica({ model_name: 'embed' }),
    ]),
  ).toBe(2)
})

describe('progress', () => {
  test('says what is known and leaves out the rest', () => {
    const half = { ...none, done_bytes: GIB, total_bytes: 2 * GIB, bytes_per_s: GIB }
    expect(progressText({ ...half, file_index: 2, total_files: 3 })).toBe('50 % of 2.0 GB, 1.0 GB/s, file 2 of 3')
    expect(progressText({ ...half, bytes_per_s: null, file_index: 1, total_files: 1 })).toBe('50 % of 2.0 GB')
    expect(progressText({ ...none, done_bytes: GIB })).toBe('1.0 GB so far')
    expect(progressText({ ...none, file: 'unpacking' })).toBe('unpacking')
    expect(progressText(none)).toBe('')
  })

  test('is a share only when the whole is known, and never more than that', () => {
    expect(shareOf(none)).toBeUndefined()
    expect(shareOf({ ...none, done_bytes: 3, total_bytes: 2 })).toBe(1)
  })
})

describe('the memory of a replica', () => {
  const claim = {
    devices: [
      { index: 0, bytes: 3 },
      { index: 1, bytes: 4 },
    ],
    ram: 9,
    disk: 0,
    source: 'computed' as const,
  }

  test('is that of its GPUs when it has some, else the machine’s', () => {
    const measured = { devices: [{ index: 0, bytes: 5 }], ram: 1 }
    expect(memoryOfReplica(aReplica({ claim, measured }))).toEqual({ held: 7, measured: 5 })
    expect(memoryOfReplica(aReplica({ claim: { ...claim, devices: [] }, measured }))).toEqual({ held: 9, measured: 1 })
  })

  test('counts as not measured where VRAM cannot be told apart by process', () => {
    const measured = { devices: null, ram: 1 }
    expect(memoryOfReplica(aReplica({ claim, measured }))).toEqual({ held: 7, measured: null })
    expect(memoryOfReplica(aReplica())).toEqual({ held: null, measured: null })
  })
})

describe('why a replica failed', () => {
  const exit = { code: 3, signal: null, last_lines: ['starting', 'no weights'] }

  test('is not told twice', () => {
    const error = 'The engine exited with code 3. Its last lines:\nstarting\nno weights'
    const [what] = error.split('\n')
    expect(troubleOf(aReplica({ error, last_exit: exit }))).toEqual({ what, exit: undefined, lines: exit.last_lines })
  })

  test('has what its engine said last, and how it ended', () => {
    const { what, exit: how, lines } = troubleOf(aReplica({ error: 'not ready in time', last_exit: exit }))
    expect([what, how, lines]).toEqual(['not ready in time', 'The engine ended with exit code 3.', exit.last_lines])
    const killed = { code: null, signal: 'SIGKILL', last_lines: [] }
    expect(troubleOf(aReplica({ error: 'gone', last_exit: killed })).exit).toContain('SIGKILL')
  })

  test('may be all that is known', () => {
    expect(troubleOf(aReplica({ state: 'failed' }))).toMatchObject({ exit: undefined, lines: [] })
  })
})
