import { expect, test } from 'vitest'
import { Faults, parseFault, type Fault } from './faults.ts'

function aFault(value: object): Fault {
  const fault = parseFault(value)
  if (typeof fault === 'string') throw new Error(fault)
  return fault
}

function someFaults(): { faults: Faults; exits: number[] } {
  const exits: number[] = []
  return { faults: new Faults((code) => exits.push(code)), exits }
}

test('a fault without conditions is active at once, and none lifts it', () => {
  const { faults } = someFaults()
  faults.set(aFault({ kind: 'slow', factor: 3 }))
  expect([faults.active, faults.factor]).toEqual(['slow', 3])
  faults.set(aFault({ kind: 'none' }))
  expect([faults.active, faults.factor]).toEqual(['none', 1])
})

test('after_requests lets that many requests through', () => {
  const { faults } = someFaults()
  faults.set(aFault({ kind: 'refuse', after_requests: 2 }))
  const seen = [1, 2, 3, 4].map(() => {
    faults.countRequest()
    return faults.active
  })
  expect(seen).toEqual(['none', 'none', 'refuse', 'refuse'])
})

test('after_tokens says how many tokens may still be written', () => {
  const { faults, exits } = someFaults()
  faults.set(aFault({ kind: 'crash', after_tokens: 5, exit_code: 42 }))
  expect(faults.tokensUntilFault).toBe(5)
  faults.countTokens(3)
  expect([faults.tokensUntilFault, ...exits]).toEqual([2])
  faults.countTokens(2)
  expect(exits).toEqual([42])
})

test('what hangs goes on when the fault is lifted, or ends when its client leaves', async () => {
  const { faults } = someFaults()
  faults.set(aFault({ kind: 'hang' }))
  const gone = new AbortController()
  const order: string[] = []
  const left = faults.passed(gone.signal).then(() => order.push('left'))
  const stayed = faults.passed(new AbortController().signal).then(() => order.push('lifted'))
  gone.abort()
  await left
  faults.set(aFault({ kind: 'none' }))
  await stayed
  expect(order).toEqual(['left', 'lifted'])
})
