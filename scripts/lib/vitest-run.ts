import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { runChild } from './child.ts'

export interface Counts {
  passed: number
  failed: number
  skipped: number
}

/** The part of vitest's JSON report that is counted: a file, and how each of its tests ended. */
export interface Report {
  testResults: readonly { status: string; assertionResults: readonly { status: string }[] }[]
}

/** Runs the tests with their progress on the terminal, and counts them from a report beside it. */
export async function runVitest(args: readonly string[]): Promise<Counts> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'flotilla-test-'))
  try {
    const reportFile = path.join(folder, 'report.json')
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${reportFile}`]
    // No input: vitest would put the terminal in raw mode and take Ctrl-C for itself.
    const { code } = await runChild('vitest', ['run', ...reporters, ...args], {
      stdio: ['ignore', 'inherit', 'inherit'],
    })
    const report = fs.existsSync(reportFile) ? (JSON.parse(fs.readFileSync(reportFile, 'utf8')) as Report) : undefined
    const { counts, problem } = countTests(report, code)
    if (problem) console.log(`✗ ${problem}`)
    return counts
  } finally {
    fs.rmSync(folder, { recursive: true, force: true })
  }
}

/** Nothing that went wrong may end as "0 failed": not a crash, not a file that does not load, not an empty run. */
export function countTests(report: Report | undefined, exitCode: number): { counts: Counts; problem?: string } {
  const counts = { passed: 0, failed: 0, skipped: 0 }
  for (const file of report?.testResults ?? []) {
    const statuses = file.assertionResults.map((test) => test.status)
    for (const status of statuses) {
      if (status === 'passed') counts.passed++
      else if (status === 'failed') counts.failed++
      else counts.skipped++
    }
    // The file itself failed: it did not load, or a hook outside of the tests threw.
    if (file.status === 'failed' && !statuses.includes('failed')) counts.failed++
  }
  const problem = findProblem(report, exitCode, counts)
  if (!problem) return { counts }
  return { counts: { ...counts, failed: counts.failed + 1 }, problem }
}

function findProblem(report: Report | undefined, exitCode: number, counts: Counts): string | undefined {
  if (!report) return `vitest ended with exit code ${exitCode} and left no report`
  if (counts.passed + counts.failed === 0) return 'vitest ran no test'
  if (exitCode !== 0 && counts.failed === 0) {
    return `vitest ended with exit code ${exitCode} although no test failed: an error outside of the tests, see above`
  }
  return undefined
}
