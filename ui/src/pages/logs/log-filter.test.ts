import { expect, test } from 'vitest'
import type { LogLine } from '../../../../src/api/admin/schemas.ts'
import { filterLines } from './log-filter.ts'

const line = (seq: number, stream: LogLine['stream'], text: string): LogLine => ({
  seq,
  at: 0,
  replica: 'm#0',
  stream,
  text,
})
const lines = [line(1, 'stdout', 'loaded'), line(2, 'stderr', 'out of MEMORY'), line(3, 'stderr', 'bye')]

test('without a wish all lines are the same list', () => {
  expect(filterLines(lines, 'all', ' ')).toBe(lines)
})

test('by stream and by text, whatever the case', () => {
  expect(filterLines(lines, 'stderr', '').map(({ seq }) => seq)).toEqual([2, 3])
  expect(filterLines(lines, 'all', 'memory').map(({ seq }) => seq)).toEqual([2])
  expect(filterLines(lines, 'stdout', 'memory')).toEqual([])
})
