import { AppError } from '../../platform/errors.ts'
import type { Value } from '../sql.ts'
import assert from 'node:assert/strict'

/** These would end or split the transaction behind the driver's back. */
const TRANSACTION_CONTROL = /^\s*(begin|start|commit|end|abort|rollback|savepoint|release|set)\b/i

/** Refuses what one dialect would take and the other would not, so that both behave alike. */
export function checkStatement(text: string, params: readonly Value[]): void {
  assert(!TRANSACTION_CONTROL.test(text), `transactions are begun and ended by the store, not by "${text}"`)
  for (const [index, value] of params.entries()) {
    if (typeof value === 'number') checkNumber(value, index)
    else if (typeof value === 'string') checkText(value)
    else assert(value === null, `parameter $${index + 1} is ${typeof value}: only text, numbers and null are stored`)
  }
}

function checkNumber(value: number, index: number): void {
  assert(Number.isFinite(value), `parameter $${index + 1} is ${value}`)
  assert(
    !Number.isInteger(value) || Number.isSafeInteger(value),
    `parameter $${index + 1} is ${value}: too large to be stored exactly`,
  )
}

/** Text may come from a user, so this is a failure to report and not a mistake in the program. */
function checkText(value: string): void {
  if (value.includes('\0')) throw new AppError('bad_request', 'Text may not contain the NUL character.')
}
