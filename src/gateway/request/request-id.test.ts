import { expect, test } from 'vitest'
import type { HttpRequest } from '../../http/exchange.ts'
import { newRequestId, prepareRequestId, requestIdOf } from './request-id.ts'

function idOf(given?: string): string {
  return requestIdOf({ headers: { 'x-request-id': given } } as unknown as HttpRequest)
}

test('each request gets a random UUID of its own', () => {
  const ids = Array.from({ length: 5000 }, () => idOf())
  expect(new Set(ids).size).toBe(ids.length)
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  // Every digit that may be any is any, somewhere.
  const digits = Array.from(ids[0]!, (_, i) => new Set(ids.map((id) => id[i])).size)
  expect(digits.filter((count) => count === 16)).toHaveLength(30)
})

test('one that was made beforehand is given to one request', () => {
  const ids = Array.from({ length: 100 }, () => {
    prepareRequestId()
    prepareRequestId()
    return newRequestId()
  })
  expect(new Set([...ids, newRequestId(), newRequestId()]).size).toBe(102)
})

test('a client’s own id is taken when it is plain text of up to 128 characters, and not otherwise', () => {
  expect(idOf('mine 1')).toBe('mine 1')
  for (const odd of ['', 'a'.repeat(129), 'tab\there', 'é']) expect(idOf(odd)).toHaveLength(36)
})
