import { beforeEach, describe, expect, test } from 'vitest'
import { setUpWorkbench, type ContractStore } from './contract.ts'
import type { Database } from '../sql.ts'
import { acquireLease, checkLease, LeaseLostError, releaseLease } from '../nouns/leases.ts'

const HOUR_MS = 3_600_000

export function describeLeases(create: () => Promise<ContractStore>): void {
  describe('leases', () => {
    const bench = setUpWorkbench(create)
    let db: Database

    beforeEach(async () => {
      db = await bench.open()
    })
    const acquire = (owner: string, ttlMs = HOUR_MS) => acquireLease(db, { name: 'leader', owner, ttlMs })
    const expire = () => db.transaction((tx) => tx.query(`update leases set expires_at = now_ms() - 1`))
    const check = (owner: string, epoch: number) =>
      db.transaction((tx) => checkLease(tx, { name: 'leader', owner, epoch }))

    test('the first to ask gets it; the others are told its owner and for how long', async () => {
      expect(await acquire('a')).toEqual({ epoch: 1 })
      const answer = (await acquire('b')) as { heldBy: string; leftMs: number }
      expect(answer.heldBy).toBe('a')
      expect(Math.abs(answer.leftMs - HOUR_MS)).toBeLessThan(60_000)
    })

    test('renewing keeps the epoch and moves the end', async () => {
      await acquire('a', 1000)
      const [first] = await db.query<{ expires_at: number }>('select expires_at from leases')
      expect(await acquire('a', HOUR_MS)).toEqual({ epoch: 1 })
      const [second] = await db.query<{ expires_at: number }>('select expires_at from leases')
      expect(second!.expires_at).toBeGreaterThan(first!.expires_at)
    })

    test('when it has run out, the next owner gets the next epoch', async () => {
      await acquire('a')
      await expire()
      expect(await acquire('b')).toEqual({ epoch: 2 })
      expect(await acquire('a')).toMatchObject({ heldBy: 'b' })
      await expire()
      expect(await acquire('a')).toEqual({ epoch: 3 })
    })

    test('a lease without length is free at once', async () => {
      expect(await acquire('a', -1)).toEqual({ epoch: 1 })
      expect(await acquire('b', -1)).toEqual({ epoch: 2 })
    })

    test('an owner that renews late, before another has taken it, keeps the epoch', async () => {
      await acquire('a')
      await expire()
      await check('a', 1)
      expect(await acquire('a')).toEqual({ epoch: 1 })
    })

    test('a released lease is free at once and protects no owner', async () => {
      await acquire('a')
      await releaseLease(db, { name: 'leader', owner: 'a', epoch: 1 })
      await expect(check('a', 1)).rejects.toBeInstanceOf(LeaseLostError)
      expect(await acquire('a')).toEqual({ epoch: 2 })
      await releaseLease(db, { name: 'leader', owner: 'a', epoch: 2 })
      expect(await acquire('b')).toEqual({ epoch: 3 })
    })

    test('releasing what one no longer holds does nothing', async () => {
      await acquire('a')
      await expire()
      await acquire('b')
      await releaseLease(db, { name: 'leader', owner: 'a', epoch: 1 })
      expect(await acquire('c')).toMatchObject({ heldBy: 'b' })
    })

    test('leases of different names know nothing of each other', async () => {
      await acquire('a')
      expect(await acquireLease(db, { name: 'janitor', owner: 'b', ttlMs: HOUR_MS })).toEqual({ epoch: 1 })
    })

    test("an old owner's late write is refused, with everything else in its transaction", async () => {
      await acquire('a')
      await expire()
      await acquire('b')
      const write = db.transaction(async (tx) => {
        await tx.query(`insert into rules (model_name, updated_at) values ('m', 1)`)
        await checkLease(tx, { name: 'leader', owner: 'a', epoch: 1 })
      })
      await expect(write).rejects.toBeInstanceOf(LeaseLostError)
      await expect(write).rejects.toMatchObject({ code: 'conflict' })
      expect(await db.query('select model_name from rules')).toEqual([])
      await check('b', 2)
    })

    test('the right epoch of another owner does not help', async () => {
      await acquire('a')
      await expect(check('b', 1)).rejects.toBeInstanceOf(LeaseLostError)
      await expect(check('a', 2)).rejects.toBeInstanceOf(LeaseLostError)
    })

    test('of many that ask at once, one gets it', async () => {
      const other = await bench.open()
      const owners = ['a', 'b', 'c', 'd', 'e', 'f']
      const answers = await Promise.all(
        owners.map((owner, i) => acquireLease(i % 2 === 0 ? db : other, { name: 'leader', owner, ttlMs: HOUR_MS })),
      )
      expect(answers.filter((answer) => 'epoch' in answer)).toEqual([{ epoch: 1 }])
    })
  })
}
