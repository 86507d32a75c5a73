import { describe, expect, test } from 'vitest'
import { hashSecret } from '../../platform/secrets.ts'
import { agreeOn, CLUSTER_ID, CLUSTER_SECRET, replaceFact } from '../nouns/cluster-facts.ts'
import { failureOf, setUpWorkbench, type ContractStore } from './contract.ts'
import type { Database } from '../sql.ts'
import { appendEvent } from '../nouns/events.ts'
import { acquireLease, checkLease, LeaseLostError } from '../nouns/leases.ts'
import { refuseOtherStore, type KnownCluster } from '../migrate/refuse-other-store.ts'
import { readMark } from '../migrate/store-mark.ts'

export function describeStoreIdentity(create: () => Promise<ContractStore>): void {
  describe('whose store it is', () => {
    const bench = setUpWorkbench(create)
    const openAs = (known: Partial<KnownCluster>) =>
      bench.open({ before: (driver) => refuseOtherStore(driver, { id: 'ours', folder: '/data', ...known }) })
    const isOf = (db: Database, id: string) => db.transaction((tx) => replaceFact(tx, CLUSTER_ID, id))

    test('an empty one is refused under a known folder before anything is made in it, with the ways on', async () => {
      const failure = await failureOf(openAs({}))
      expect(failure).toMatchObject({ code: 'usage' })
      expect(failure.message).toMatch(
        /\/data belongs to the cluster ours.* is empty.*flotilla db import.*--new-cluster/s,
      )
      // As empty as before.
      expect((await failureOf(openAs({}))).message).toContain('is empty')
    })

    test('one of another cluster is refused, one of ours is opened', async () => {
      await isOf(await bench.open(), 'theirs')
      expect((await failureOf(openAs({}))).message).toContain('is the database of the cluster theirs')
      await openAs({ id: 'theirs' })
    })

    test('one without an id is ours when it holds the secret that we know', async () => {
      const db = await bench.open()
      expect((await failureOf(openAs({}))).message).toContain('no cluster in them')
      await agreeOn(db, CLUSTER_SECRET, 'flc_ours')
      const failure = await failureOf(openAs({ secretHash: hashSecret('flc_theirs') }))
      expect(failure.message).toContain('another cluster, which has no id yet')
      await openAs({ secretHash: hashSecret('flc_ours') })
    })

    test('its mark says whose it is and how far it is', async () => {
      const db = await bench.open()
      expect(await readMark(db)).toEqual({ clusterId: null, epoch: 0, eventId: 0 })
      await isOf(db, 'ours')
      await acquireLease(db, { name: 'leader', owner: 'a', ttlMs: 1000 })
      await db.transaction((tx) => appendEvent(tx, { actor: 'a', action: 'test.done', reason: '' }))
      expect(await readMark(db)).toEqual({ clusterId: 'ours', epoch: 1, eventId: 1 })
    })

    test('a lease protects nothing in the store of another cluster', async () => {
      const db = await bench.open()
      await isOf(db, 'ours')
      await acquireLease(db, { name: 'leader', owner: 'a', ttlMs: 60_000 })
      const held = { name: 'leader', owner: 'a', epoch: 1, cluster: 'ours' }
      await db.transaction((tx) => checkLease(tx, held))
      await isOf(db, 'theirs')
      await expect(db.transaction((tx) => checkLease(tx, held))).rejects.toThrow(LeaseLostError)
    })
  })
}
