import fc from 'fast-check'
import { expect, test } from 'vitest'
import { IdColumn } from './id-column.ts'
import { newRequestId } from '../request/request-id.ts'

const SLOTS = 4
const character = fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code))
const id = fc.oneof(
  fc.string({ unit: character, minLength: 1, maxLength: 128 }),
  fc.string({ unit: character, minLength: 36, maxLength: 36 }),
  fc.constant(undefined).map(newRequestId),
)

test('each id is found where it was put last, whatever stood there and beside it', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(SLOTS - 1), id), { minLength: 1, maxLength: 30 }), (puts) => {
      const column = new IdColumn(SLOTS)
      for (const [slot, text] of puts) column.set(slot, text)
      for (const [slot, text] of new Map(puts)) expect(column.at(slot)).toBe(text)
    }),
  )
})
