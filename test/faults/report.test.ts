import { expect, test } from 'vitest'
import { commandLine, helpText, parseArguments } from './arguments.ts'
import type { Fault } from './fault.ts'
import { allFaults } from './kinds/all.ts'
import { page, rowLine, rowsOf, titleLine } from './report.ts'
import type { Outcome } from './run-faults.ts'

const fault: Fault = {
  name: 'cut a | b',
  group: 'network',
  holdMs: 7000,
  strike: async () => ({ keepsReplicas: true }),
}
const anOutcome = (fields: Partial<Outcome> = {}): Outcome => {
  return { fault, heldMs: 7000, requests: 100, ended: {}, convergedMs: 1500, problems: [], ...fields }
}
const circumstances = { command: 'npm run faults', date: '2026', machine: '2 cores', versions: 'v', load: 'none' }

test('every fault has a name of its own that fits into a line', () => {
  const names = allFaults.map(({ name }) => name)
  expect(new Set(names).size).toBe(names.length)
  expect(names.filter((name) => name.length > 36)).toEqual([])
})

test('a line fits into 80 columns and tells the worst round', () => {
  const rounds = [anOutcome({ ended: { told: 2 } }), anOutcome({ convergedMs: 4321, ended: { told: 1, hung: 1 } })]
  const line = rowLine(rowsOf(rounds)[0]!)
  expect(line).toMatch(/^cut a \| b +200 +0 +3 +0 +1 +4\.3 s$/)
  expect(line).toHaveLength(titleLine().length)
  expect(line.length).toBeLessThanOrEqual(80)
  expect(rowLine(rowsOf([anOutcome({ convergedMs: undefined })])[0]!)).toContain('never')
  expect(rowLine(rowsOf([anOutcome({ leftOut: 'no disk' })])[0]!)).toContain('left out: no disk')
})

test('the page has a row for each fault, the sum of all and what does not hold', () => {
  const good = page(rowsOf([anOutcome(), anOutcome({ convergedMs: 2500 })]), circumstances)
  expect(good).toContain(String.raw`| network | cut a \| b | 7 s | 200 | 0 | 0 | 0 | 0 | 1.5 s, 2.5 s |`)
  expect(good).toContain('200 requests in 2 faults: 0 refused, 0 told, 0 lost, 0 wrong, cut or hung.')
  expect(good).toContain('Nothing was left behind')
  const bad = page(rowsOf([anOutcome({ problems: ['a port is still taken'] })]), circumstances)
  expect(bad).toContain('- cut a | b: a port is still taken')
  expect(bad).not.toContain('Nothing was left behind')
})

test.each([
  [['--rounds', '0'], '--rounds takes a whole number from 1 to 1000'],
  [['--rounds'], '--rounds takes a whole number from 1 to 1000'],
  [['--only', 'nothing like that'], 'no fault has "nothing like that" in its name'],
  [['--only'], '--only takes a part of the name of a fault'],
  [['--fast'], 'there is no option --fast'],
  [['--long=yes'], '--long takes no value'],
  [['more'], 'unexpected "more"'],
  [['--write', '--only', 'disk'], '--write is for all faults'],
])('%j is a mistake that is told', (args, message) => {
  const parsed = parseArguments(args, allFaults)
  expect(parsed).toMatchObject({ kind: 'mistake', message: expect.stringContaining(message) })
})

test('what is given is taken, and can be typed again', () => {
  const args = ['--rounds', '3', '--only', 'disk', '--only', 'clock', '--long']
  const parsed = parseArguments(args, allFaults)
  expect(parsed).toEqual({
    kind: 'run',
    arguments: { rounds: 3, only: ['disk', 'clock'], isLong: true, isWritten: false },
  })
  const given = parsed.kind === 'run' ? parsed.arguments : undefined
  expect(commandLine(given!)).toBe("npm run faults -- --rounds 3 --only 'disk' --only 'clock' --long")
  expect(parseArguments(['--help'], allFaults)).toEqual({ kind: 'help' })
  expect(
    helpText(allFaults)
      .split('\n')
      .every((line) => line.length <= 80),
  ).toBe(true)
})
