import { pino } from 'pino'
import { expect, test } from 'vitest'
import { Conditions } from './conditions.ts'

function withLog() {
  const lines: string[] = []
  const conditions = new Conditions(pino({ base: null }, { write: (line: string) => void lines.push(line) }))
  return { conditions, lines }
}

const FULL = { kind: 'store', severity: 'error', text: 'The disk of /data is full.', advice: 'make room' } as const

test('a condition is listed while it holds, with its advice', () => {
  const { conditions } = withLog()
  conditions.begin('disk', FULL)
  expect(conditions.problems()).toEqual([{ ...FULL, node_id: null, node_name: null, key: null, model_name: null }])
  expect(conditions.note()).toBe(FULL.text)
  conditions.end('disk')
  expect(conditions.problems()).toEqual([])
  expect(conditions.note()).toBeUndefined()
})

test('a condition that is seen again and again has one line in the log when it begins and one when it ends', () => {
  const { conditions, lines } = withLog()
  for (let i = 0; i < 5; i += 1) conditions.look('disk', FULL)
  for (let i = 0; i < 5; i += 1) conditions.look('disk', undefined)
  expect(lines).toEqual([expect.stringContaining(FULL.text), expect.stringContaining(`over: ${FULL.text}`)])
})
