import { expect, test } from 'vitest'
import { clockText, msOfClockText, Trace } from './trace.ts'
import { transcript } from './transcript.ts'

test('shows every fault, what was said of those in the message, and the end', () => {
  const lines = aHistory((say) => {
    say(0, 'fault', '#1 crash-engine: r3 of m2 on n1 dies')
    for (let i = 0; i < 20; i += 1) say(1000 + i, 'g1', `r${i + 20} on n9 cannot be reached`)
    say(2000, 'f1', 'plans r7 = m2#0 on n4')
    for (let i = 0; i < 20; i += 1) say(3000 + i, 'g1', `r${i + 20} on n9 cannot be reached`)
    say(4000, 'f2', 'leads from now on')
    say(5000, 'n4', 'starts r7')
  })
  expect(transcript(lines, aViolation('two rows of m2#0 on n4', 5001), 6)).toEqual([
    '> 00:00:00.000 fault #1 crash-engine: r3 of m2 on n1 dies',
    '                     (20 lines left out)',
    '> 00:00:02.000 f1    plans r7 = m2#0 on n4',
    '                     (19 lines left out)',
    '  00:00:03.019 g1    r39 on n9 cannot be reached',
    '  00:00:04.000 f2    leads from now on',
    '> 00:00:05.000 n4    starts r7',
    '  00:00:05.001 here the check fails:',
    '                     two rows of m2#0 on n4',
  ])
})

test('long lines go on below, within 80 columns', () => {
  const lines = aHistory((say) => say(3_723_004, 'user', 'a rule with very many words '.repeat(5).trim()))
  const shown = transcript(lines, aViolation('m1', 3_723_005), 10)
  expect(shown[0]).toMatch(/^ {2}01:02:03\.004 user {2}a rule with/)
  expect(shown[1]).toMatch(/^ {21}\S/)
  expect(Math.max(...shown.map((line) => line.length))).toBeLessThanOrEqual(80)
})

test('r1 is not r12', () => {
  const lines = aHistory((say) => {
    say(1, 'n1', 'r12 ends')
    for (let i = 0; i < 9; i += 1) say(2, 'n9', `nothing ${i}`)
  })
  expect(transcript(lines, aViolation('r1 is ready without a process', 3), 2)).toEqual([
    '                     (9 lines left out)',
    '  00:00:00.002 n9    nothing 8',
    '  00:00:00.003 here the check fails:',
    '                     r1 is ready without a process',
  ])
})

test('what is said again and again is said once', () => {
  const lines = aHistory((say) => {
    for (let i = 0; i < 9; i += 1) say(i, 'g1', 'no replica of m1')
    say(9, 'g2', 'no replica of m1')
  })
  expect(transcript(lines, aViolation('nothing', 0), 10)).toEqual([
    '  00:00:00.000 g1    no replica of m1 (and 8 times more)',
    '  00:00:00.009 g2    no replica of m1',
    '  here it fails:',
    '                     nothing',
  ])
})

test('no more faults than lines asked for, the last ones', () => {
  const lines = aHistory((say) => {
    for (let i = 1; i <= 100; i += 1) say(i, 'fault', `#${i} drain: n${i} is drained`)
  })
  const shown = transcript(lines, aViolation('nothing', 101), 4)
  expect(shown.slice(0, 2)).toEqual([
    '                     (96 lines left out)',
    '  00:00:00.097 fault #97 drain: n97 is drained',
  ])
  expect(shown).toHaveLength(7)
})

test('ids are the names of machines, or short; what the log adds is told in words', () => {
  const [node, replica] = ['ed18709c-5554-4714-8d70-41df506507c4', '12fb4520-5e0b-4caf-85ed-ef9dfb5c29c1']
  const lines = aHistory((say) => {
    say(1, 'f1', `n3 joined with the token "default" {"actor":"node n3","action":"node.registered","node":"${node}"}`)
    say(2, 'f1', `replica failed {"replica":"m3#0","node":"${node}","id":"${replica}","exit":1,"error":null,"data":{}}`)
    say(3, 'user', 'rule {"model_name":"m2","node_selector":{"tier":"fast"},"min_replicas":1,"spread_all":false}')
    say(4, 'f1', 'it is { open')
  })
  expect(transcript(lines, aViolation(`${replica} of ${node} is there twice`, 9), 10)).toEqual([
    '> 00:00:00.001 f1    n3 joined with the token "default" (node n3)',
    '> 00:00:00.002 f1    replica failed (replica m3#0, node n3, id r1, exit 1)',
    '  00:00:00.003 user  rule (model name m2, node selector {tier:fast}, min',
    '                     replicas 1)',
    '  00:00:00.004 f1    it is { open',
    '  00:00:00.009 here the check fails:',
    '                     r1 of n3 is there twice',
  ])
})

test('a trace says the same for the same, and the last lines are the last', () => {
  const [one, two] = [aTrace(100), aTrace(100)]
  expect(one.hash()).toBe(two.hash())
  expect(one.hash()).not.toBe(aTrace(101).hash())
  expect(one.lastLines()).toHaveLength(40)
  expect(one.lastLines().at(-1)).toBe('00:00:00.099 n1    does 99')
})

test('the time of a line can be read again', () => {
  for (const ms of [0, 59_999, 3_723_004, 720 * 3_600_000]) expect(msOfClockText(`${clockText(ms)} n1 does`)).toBe(ms)
  expect(msOfClockText('something else')).toBe(0)
})

function aTrace(lines: number): Trace {
  let nowMs = 0
  const trace = new Trace(() => nowMs)
  for (; nowMs < lines; nowMs += 1) trace.add('n1', `does ${nowMs}`)
  return trace
}

function aHistory(tell: (say: (atMs: number, who: string, what: string) => void) => void): string[] {
  const lines: string[] = []
  let nowMs = 0
  const trace = new Trace(
    () => nowMs,
    (line) => lines.push(line),
  )
  tell((atMs, who, what) => {
    nowMs = atMs
    trace.add(who, what)
  })
  return lines
}

function aViolation(message: string, atMs: number) {
  return { check: 'slots', message, event: 1, atMs, lastLines: [] }
}
