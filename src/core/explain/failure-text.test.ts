import { expect, test } from 'vitest'
import { failureText } from './failure-text.ts'

test('says how an engine ended and what it said last', () => {
  const error = 'The engine exited with code 2. Its last lines:\nloading\n  no such file: x.gguf  \n\n'
  expect(failureText(error)).toBe('The engine exited with code 2. It said last: no such file: x.gguf')
})

test('an error of one line is that line', () => {
  expect(failureText('  The engine exited with code 1.\n')).toBe('The engine exited with code 1.')
})

test('nothing known is nothing', () => {
  expect(failureText(null)).toBe('')
  expect(failureText(' \n ')).toBe('')
})

test('has a limit, whatever the engine wrote', () => {
  const text = failureText(`${'x'.repeat(9000)}\n${'y'.repeat(9000)}`)
  expect(text).toMatch(/^x{500}\. It said last: y{500}$/)
})
