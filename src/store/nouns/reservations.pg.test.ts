import { describe } from 'vitest'
import { createTestDatabase } from '../../../test/support/postgres/postgres.ts'
import { describeReservations } from '../contract/reservations-suite.ts'

describe('on PostgreSQL', () => {
  describeReservations(async () => {
    const database = await createTestDatabase()
    return { target: { url: database.url }, drop: () => database.drop() }
  }, 1000)
})
