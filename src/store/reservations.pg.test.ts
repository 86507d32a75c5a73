import { describe } from 'vitest'
import { createTestDatabase } from '../../test/support/postgres/postgres.ts'
import { describeReservations } from './reservations-suite.ts'

describe('on PostgreSQL', () => {
  describeReservations(async () => {
    const database = await createTestDatabase()
    return { target: { url: database.url }, drop: () => database.drop() }
  }, 1000)
})
