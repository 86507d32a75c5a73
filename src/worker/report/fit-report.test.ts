import { describe, expect, test } from 'vitest'
import { MOST_HEARTBEAT_BYTES } from '../../api/bounds.ts'
import { heartbeat, type HeartbeatMessage } from '../../api/bus/messages.ts'
import { pullReport } from '../../api/reports.ts'
import { aHeartbeat, anEngine, aReport } from '../../../test/support/builders.ts'
import { fitHeartbeat, fitPull } from './fit-report.ts'

const MIB = 2 ** 20
const long = 'x'.repeat(MIB)
const progress = { file: long, done_bytes: 1, total_bytes: 2, bytes_per_s: 3 }
const exit = { code: 1, signal: null, last_lines: Array.from({ length: 20 }, () => long) }

const bytesOf = (beat: HeartbeatMessage): number => Buffer.byteLength(JSON.stringify(beat))

describe('a heartbeat', () => {
  test('with endless texts is one that control reads', () => {
    const operation = { id: 'o', kind: 'install', state: 'failed', error: long, stopped: [], progress } as const
    const engines = [
      anEngine({ reason: long, operation: { ...operation, stopped: Array.from({ length: 9000 }, String) } }),
    ]
    const fitting = fitHeartbeat(
      aHeartbeat({ replicas: [aReport({ state: 'failed', error: long, exit, progress })], engines }),
    )
    expect(heartbeat.safeParse(fitting).error).toBeUndefined()
    expect(bytesOf(fitting)).toBeLessThanOrEqual(MOST_HEARTBEAT_BYTES)
    expect(fitting.replicas[0]!.exit?.last_lines).toHaveLength(20)
  })

  test('of very many failed replicas goes without the last lines of their engines', () => {
    const replicas = Array.from({ length: 500 }, (_, i) => aReport({ id: `r${i}`, state: 'failed', error: long, exit }))
    const fitting = fitHeartbeat(aHeartbeat({ replicas }))
    expect(bytesOf(fitting)).toBeLessThanOrEqual(MOST_HEARTBEAT_BYTES)
    expect(fitting.replicas).toHaveLength(500)
    expect(fitting.replicas[0]!.error).toMatch(/^xxx/)
  })

  test('has no NUL, which no store holds', () => {
    const exit = { code: 1, signal: null, last_lines: ['a\0b'] }
    const [replica] = fitHeartbeat(aHeartbeat({ replicas: [aReport({ error: '\0', exit })] })).replicas
    expect(replica).toMatchObject({ error: '\uFFFD', exit: { last_lines: ['a\uFFFDb'] } })
  })

  test('of usual size is as it was', () => {
    const beat = aHeartbeat({ replicas: [aReport({ error: 'no room' })], engines: [anEngine()] })
    expect(fitHeartbeat(beat)).toEqual(beat)
  })
})

test('a pull with an endless error fits its schema', () => {
  const pull = { id: 'p', state: 'failed', progress, error: long, bytes: null } as const
  expect(pullReport.safeParse(fitPull(pull)).success).toBe(true)
})
