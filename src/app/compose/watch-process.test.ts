import { expect, test } from 'vitest'
import { storeClock, stuckLog } from './watch-process.ts'

test('a log that stands still is a warning with the reason and the number of lines that are lost', () => {
  expect(stuckLog({ code: 'EAGAIN', sinceMs: 0, lost: 312 })).toMatchObject({
    kind: 'process',
    severity: 'warning',
    text: 'The log of this frontend is not written: what reads its stderr stands still. 312 lines are lost so far.',
  })
  expect(stuckLog({ code: 'ENOSPC', sinceMs: 0, lost: 0 })?.text).toContain('is full')
  expect(stuckLog({ code: 'EIO', sinceMs: 0, lost: 0 })?.text).toContain('EIO')
  expect(stuckLog(undefined)).toBeUndefined()
})

test('a clock that is more than 5 s off that of PostgreSQL is a warning with the seconds', () => {
  expect(storeClock(-90_000)).toMatchObject({
    kind: 'store',
    severity: 'warning',
    text: 'The clock of this frontend is 90 s behind the clock of PostgreSQL.',
  })
  expect(storeClock(6000)?.text).toContain('6 s ahead of')
  expect(storeClock(5000)).toBeUndefined()
})
