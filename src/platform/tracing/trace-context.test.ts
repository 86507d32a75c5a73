import fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatTraceparent, newSpanId, newTraceId, parseTraceparent } from './trace-context.ts'
import { Tracer, type Span } from './tracer.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'

test('a traceparent is read and written as W3C has it', () => {
  const header = `00-${TRACE}-${SPAN}-01`
  expect(parseTraceparent(header)).toEqual({ traceId: TRACE, spanId: SPAN, isSampled: true })
  expect(formatTraceparent(parseTraceparent(header)!)).toBe(header)
  expect(parseTraceparent(`00-${TRACE}-${SPAN}-00`)?.isSampled).toBe(false)
  // A later version may have more in it.
  expect(parseTraceparent(`01-${TRACE}-${SPAN}-03-more`)?.isSampled).toBe(true)
  expect(formatTraceparent({ traceId: newTraceId(), spanId: newSpanId(), isSampled: true })).toMatch(
    /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/,
  )
})

test('what is none begins a trace instead of breaking one', () => {
  for (const header of [
    undefined,
    '',
    'x',
    `ff-${TRACE}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-01-more`,
    `00-${'0'.repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    [`00-${TRACE}-${SPAN}-01`],
  ]) {
    expect(parseTraceparent(header)).toBeUndefined()
  }
  fc.assert(
    fc.property(fc.string(), (text) => {
      const parsed = parseTraceparent(text)
      expect(parsed === undefined || /^[0-9a-f]{32}$/.test(parsed.traceId)).toBe(true)
    }),
  )
})

test('a parent decides; without one a share is traced, and within the cluster none', () => {
  const spans: Span[] = []
  let chance = 0.3
  const sink = { add: (span: Span) => void spans.push(span) }
  const tracer = new Tracer({ sink, service: 'flotilla-gateway', ratio: 0.5, random: () => chance })
  expect(tracer.begin(undefined)).toMatchObject({ parentId: '' })
  chance = 0.5
  expect(tracer.begin(undefined)).toBeUndefined()
  expect(tracer.begin(`00-${TRACE}-${SPAN}-01`)).toMatchObject({ context: { traceId: TRACE }, parentId: SPAN })
  chance = 0
  expect(tracer.begin(`00-${TRACE}-${SPAN}-00`)).toBeUndefined()
  expect(tracer.follow(undefined)).toBeUndefined()
  expect(tracer.follow(`00-${TRACE}-${SPAN}-00`)).toBeUndefined()
  expect(tracer.follow(`00-${TRACE}-${SPAN}-01`)).toMatchObject({ parentId: SPAN })
})
