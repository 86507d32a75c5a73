import { checks } from './lib/checks.ts'
import { runStep } from './lib/step.ts'
import { ensureParts } from './lib/system-parts.ts'
import { runVitest, type Counts } from './lib/vitest-run.ts'

/**
 * `npm test`: everything that must hold before a change lands, on any machine, from nothing. Arguments go to vitest:
 * `npm test -- src/store`, `npm test -- --project unit`. The last line counts; each check counts as one test.
 */
if (!(await ensureParts())) {
  finish({ passed: 0, failed: 1, skipped: 0 })
} else {
  const passedChecks = (await Promise.all(checks.map(runStep))).filter(Boolean).length
  const tests = await runVitest(process.argv.slice(2))
  finish({
    passed: tests.passed + passedChecks,
    failed: tests.failed + checks.length - passedChecks,
    skipped: tests.skipped,
  })
}

function finish({ passed, failed, skipped }: Counts): void {
  if (failed > 0) process.exitCode = 1
  console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`)
}
