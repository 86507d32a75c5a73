import { expect, test } from 'vitest'
import { countTests } from '../scripts/lib/vitest-run.ts'

const aFile = (status: string, ...tests: string[]) => ({
  status,
  assertionResults: tests.map((status) => ({ status })),
})

test('passed, failed and skipped tests are counted over all files', () => {
  const testResults = [aFile('passed', 'passed', 'skipped', 'todo'), aFile('failed', 'failed', 'passed')]
  expect(countTests({ testResults }, 1)).toEqual({ counts: { passed: 2, failed: 1, skipped: 2 } })
})

test('a file that did not load is a failure', () => {
  const testResults = [aFile('passed', 'passed'), aFile('failed')]
  expect(countTests({ testResults }, 1)).toEqual({ counts: { passed: 1, failed: 1, skipped: 0 } })
})

test.each([
  ['no report', undefined, 0],
  ['no test', { testResults: [] }, 0],
  ['only skipped tests', { testResults: [aFile('passed', 'skipped')] }, 0],
  ['a bad exit code', { testResults: [aFile('passed', 'passed')] }, 1],
])('%s is a failure', (_, report, exitCode) => {
  expect(countTests(report, exitCode)).toMatchObject({ counts: { failed: 1 }, problem: expect.any(String) })
})
