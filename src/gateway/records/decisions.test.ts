import { describe, expect, test } from 'vitest'
import { decisionRecord } from '../../api/decision-record.ts'
import { Decisions } from './decisions.ts'
import type { Decision } from './decision.ts'
import type { LiveRoute } from '../table/routing-table.ts'

function aRoute(i: number): LiveRoute {
  const ids = { replicaId: `r${i}`, nodeId: `n${i}`, nodeName: `node${i}`, modelName: 'm', generation: 1 }
  return { ...ids, address: '127.0.0.1:1', dataKey: 'secret', availableVram: 5 }
}

function aDecision(requestId: string, fields: Partial<Decision> = {}): Decision {
  return {
    requestId,
    atMs: 1000,
    method: 'POST',
    path: '/v1/x',
    model: 'm',
    policy: 'least_loaded',
    keyId: null,
    isStream: false,
    isSampled: true,
    candidates: [],
    candidateCount: 0,
    tries: [{ route: aRoute(0), outcome: 'served', status: 200, error: null, ms: 3, mayHaveReached: true }],
    queuedMs: 0,
    loadWaitMs: 0,
    status: 200,
    firstByteMs: 1002,
    endedMs: 1004,
    ...fields,
  }
}

describe('what is remembered', () => {
  const kept = (decisions: Decisions, prefix: string, count: number) =>
    Array.from({ length: count }, (_, i) => `${prefix}${i}`).filter((id) => decisions.find(id)).length

  test('the last 10,000 requests', () => {
    const decisions = new Decisions('g')
    for (let i = 0; i < 25_000; i += 1) decisions.keep(aDecision(`id${i}`))
    expect(kept(decisions, 'id', 25_000)).toBe(10_000)
    expect(decisions.find('id15000')).toBeDefined()
    expect(decisions.find('id14999')).toBeUndefined()
  })

  test('those that failed or took more than one try, whatever number goes well after them', () => {
    const decisions = new Decisions('g')
    const [served] = aDecision('').tries
    decisions.keep(aDecision('bad0', { status: 502 }))
    decisions.keep(aDecision('bad1', { tries: [{ ...served!, outcome: 'refused' }, served!] }))
    decisions.keep(aDecision('bad2', { tries: [{ ...served!, outcome: 'broken off' }] }))
    for (let i = 0; i < 25_000; i += 1) decisions.keep(aDecision(`id${i}`))
    expect(kept(decisions, 'bad', 3)).toBe(3)
    for (let i = 0; i < 25_000; i += 1) decisions.keep(aDecision(`later${i}`, { status: 400 }))
    expect(kept(decisions, 'bad', 3) + kept(decisions, 'later', 25_000)).toBe(2000)
  })

  test('the later of two with the same id, for as long as it is there', () => {
    const decisions = new Decisions('g')
    decisions.keep(aDecision('same', { path: '/v1/first' }))
    for (let i = 0; i < 5000; i += 1) decisions.keep(aDecision(`id${i}`))
    decisions.keep(aDecision('same', { path: '/v1/second' }))
    for (let i = 0; i < 9000; i += 1) decisions.keep(aDecision(`more${i}`))
    expect(decisions.find('same')?.path).toBe('/v1/second')
  })
})

test('of many ordinary requests as much is remembered as of few: who got it, out of how many, and how it went', () => {
  const candidates = [{ route: aRoute(0), here: 3, elsewhere: 2, lastUsedMs: 990, leftOut: null }]
  const fields = { candidates, candidateCount: 16, queuedMs: 1, loadWaitMs: 2, keyId: 'k1' }
  const [whole, brief] = [true, false].map((isSampled) => {
    const decisions = new Decisions('g')
    decisions.keep(aDecision('id', { ...fields, isSampled }))
    return decisions.find('id')
  })
  expect(brief).toEqual(whole)
  const never = new Decisions('g')
  never.keep(aDecision('id', { candidates: [{ ...candidates[0]!, lastUsedMs: undefined }], isSampled: false }))
  expect(never.find('id')?.candidates[0]?.idle_ms).toBeNull()
})

test('one that was left out before it was tried is remembered with the reason', () => {
  const decisions = new Decisions('g')
  const left = { route: aRoute(0), here: 0, elsewhere: 0, lastUsedMs: undefined, leftOut: 'no probe answered' }
  decisions.keep(aDecision('id', { candidates: [left], isSampled: false }))
  expect(decisions.find('id')?.candidates[0]?.left_out).toBe('no probe answered')
})

test('a record has the shape that was agreed, the tried ones first, and no secret', () => {
  const decisions = new Decisions('g')
  const candidates = [0, 1, 2].map((i) => {
    return { route: aRoute(i), here: i, elsewhere: 0, lastUsedMs: i === 0 ? undefined : 990.4, leftOut: null }
  })
  const tries = [2, 1].map((i) => {
    const outcome = i === 1 ? 'served' : 'refused'
    return { route: aRoute(i), outcome, status: 200, error: null, ms: 1.6, mayHaveReached: i === 1 } as const
  })
  decisions.keep(aDecision('id', { candidates, candidateCount: 3, tries, loadWaitMs: 12.4 }))
  const record = decisionRecord.parse(decisions.find('id'))
  expect(record.candidates.map((candidate) => candidate.replica_id)).toEqual(['r2', 'r1', 'r0'])
  expect(record.candidates[1]).toEqual({
    replica_id: 'r1',
    node_name: 'node1',
    in_flight_here: 1,
    in_flight_elsewhere: 0,
    idle_ms: 10,
    available_vram: 5,
    left_out: null,
  })
  expect(record).toMatchObject({ gateway: 'g', duration_ms: 4, candidate_count: 3, load_wait_ms: 12 })
  expect(JSON.stringify(record)).not.toContain('secret')
})
