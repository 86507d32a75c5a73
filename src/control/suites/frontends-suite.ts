import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { RoutingDeltaMessage } from '../../api/bus/messages.ts'
import { systemClock } from '../../platform/run/clock.ts'
import { silentLogger } from '../../platform/run/log.ts'
import { hashSecret } from '../../platform/secrets.ts'
import { openDatabase } from '../../store/database.ts'
import type { Database } from '../../store/sql.ts'
import { listAdminKeyHashes, pruneFrontends, recordFrontend } from '../../store/nouns/frontends.ts'
import { listReplicas } from '../../store/nouns/replicas.ts'
import { aHeartbeat } from '../../../test/support/builders.ts'
import { ControlBus } from '../../../test/support/control/control-bus.ts'
import { anApplicant, ControlScene } from '../../../test/support/control/control-scene.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { until } from '../../../test/support/until.ts'
import { Conditions } from '../watch/conditions.ts'
import { sceneOn, type OpenStore } from './control-suite.ts'
import type { Control } from '../control-deps.ts'
import { startControl } from '../start-control.ts'

const LEASE_MS = 1000

/** Several frontends on one bus: on one store, as it should be, and on two; run on each kind of store. */
export function describeFrontends(storeName: string, openStore: OpenStore): void {
  describe(`several frontends on ${storeName}`, () => {
    const scene = sceneOn(openStore, { autoApprove: true })
    let bus: ControlBus
    let ends: (() => Promise<void>)[]

    beforeEach(async () => {
      bus = new ControlBus()
      ends = []
      await scene().db.transaction((tx) => tx.query('update leases set expires_at = 0'))
    })
    afterEach(async () => {
      for (const end of ends.toReversed()) await end()
    })

    function aFrontend(owner: string, db: Database = scene().db) {
      const conditions = new Conditions(silentLogger)
      const it = { owner, conditions, key: `fla_${owner}`, control: undefined as unknown as Control }
      it.control = startControl({
        db,
        bus: bus.of(owner),
        clock: systemClock,
        log: silentLogger,
        owner,
        address: `${owner}.example:8080`,
        adminKey: () => it.key,
        clusterSecret: 'secret',
        clusterId: 'cluster',
        liveness: { unreachableAfterMs: 15_000, offlineAfterMs: 60_000 },
        events: { wake() {} },
        conditions,
        placement: 'spread',
        modelsFolder: '/nowhere',
        hub: { endpoint: 'http://127.0.0.1:9', token: undefined },
        pace: { turnPeriodMs: 60, leaseTtlMs: LEASE_MS },
      })
      let isOver = false
      const end = async () => {
        if (!isOver) await it.control.dispose()
        isOver = true
      }
      ends.push(end)
      return Object.assign(it, { end })
    }
    /** The keys that gateways know after the last word of the leader. */
    const toldHashes = (): string[] => {
      const deltas = bus.said.filter(({ name }) => name === 'routingDelta').map(({ message }) => message)
      return (deltas as RoutingDeltaMessage[]).findLast(({ keys }) => keys)?.keys?.map((key) => key.key_hash) ?? []
    }
    const hashesOf = (...frontends: { key: string }[]): string[] =>
      frontends.map(({ key }) => hashSecret(key)).toSorted()
    const knowsExactly = (...frontends: { key: string }[]): boolean =>
      toldHashes().toSorted().join() === hashesOf(...frontends).join()

    describe('admin keys', () => {
      test('gateways know those of all frontends, whoever leads, before and after a failover', async () => {
        const f1 = aFrontend('f1')
        await until(() => f1.control.isLeading())
        const f2 = aFrontend('f2')
        await until(() => knowsExactly(f1, f2))
        await f1.end()
        bus.said.length = 0
        await until(() => f2.control.isLeading() && toldHashes().length > 0)
        expect(knowsExactly(f1, f2)).toBe(true)
      })

      test('a rotated key of a frontend that does not lead replaces the old one at once', async () => {
        const f1 = aFrontend('f1')
        await until(() => f1.control.isLeading())
        const f2 = aFrontend('f2')
        await until(() => knowsExactly(f1, f2))
        f2.key = 'fla_another'
        f2.control.wake()
        await until(() => toldHashes().includes(hashSecret('fla_another')))
        expect(knowsExactly(f1, { key: 'fla_another' })).toBe(true)
      })

      test('that of a frontend that has been away for a week is forgotten, and so many are kept at most', async () => {
        const { db } = scene()
        await db.transaction(async (tx) => {
          for (let i = 0; i < 40; i += 1) {
            await recordFrontend(tx, `f${i}`, `hash${i}`)
            await tx.query('update frontends set seen_at = seen_at - $2 where owner = $1', [`f${i}`, i * 1000])
          }
          await tx.query(`update frontends set seen_at = seen_at - $1 where owner in ('f3', 'f4')`, [8 * 86_400_000])
        })
        const before = await listAdminKeyHashes(db)
        expect(before).toHaveLength(32)
        expect(before).not.toContain('hash3')
        expect(before).not.toContain('hash39')
        await db.transaction(pruneFrontends)
        expect(await listAdminKeyHashes(db)).toEqual(before)
        expect(await db.query('select count(*) as n from frontends')).toEqual([{ n: 32 }])
      })
    })

    describe('two leaders on one bus', () => {
      /** One leader on the store, and a later one on a store of its own, each with a rule that asks for a replica. */
      async function twoStores() {
        const db = await openDatabase({ file: join(tempFolder(), 'flotilla.db') })
        const other = await ControlScene.start(db, { autoApprove: true })
        ends.push(async () => {
          await other.end()
          await db.close()
        })
        await db.transaction((tx) => tx.query('update leases set expires_at = 0'))
        const node = anApplicant()
        const first = aFrontend('zeta')
        await until(() => first.control.isLeading())
        // Its store has the time of another machine, which does not matter: both go by the same words.
        const later = aFrontend('alpha', db)
        await until(() => later.control.isLeading())
        await scene().register(node)
        await other.wants(1)
        const twin = { ...node }
        await other.register(twin)
        return { db, other, first, later, node, twin }
      }
      const textsOf = ({ conditions }: { conditions: Conditions }): string[] =>
        conditions.problems().map(({ text }) => text)

      test('the later one decides nothing and says nothing, both tell of it, and it ends when one ends', async () => {
        const { db, first, later, twin } = await twoStores()
        await until(() => textsOf(first).length > 0 && textsOf(later).length > 0)
        for (const text of [...textsOf(first), ...textsOf(later)]) {
          expect(text).toMatch(/zeta\.example:8080.*alpha\.example:8080|alpha\.example:8080.*zeta\.example:8080/)
        }
        expect(textsOf(first)[0]).toContain('was first and goes on')
        expect(textsOf(later)[0]).toContain('came later and decides nothing')
        bus.said.length = 0
        bus.asked.length = 0
        // A process that the later one does not know: it would stop it as a stray.
        const heartbeat = aHeartbeat({ boot_id: twin.bootId, seq: 1 })
        bus.hear('heartbeat', heartbeat, twin.nodeId)
        later.control.wake()
        const words = () => bus.said.filter(({ by, name }) => by === 'alpha' && name === 'leader').length
        await until(() => words() > 4)
        expect(new Set(bus.said.flatMap(({ by, name }) => (by === 'alpha' ? [name] : [])))).toEqual(
          new Set(['leader', 'wake']),
        )
        expect(bus.said.some(({ by, name }) => by === 'zeta' && name === 'routingDelta')).toBe(true)
        expect(bus.asked.filter(({ by }) => by === 'alpha')).toEqual([])
        expect(await listReplicas(db)).toEqual([])
        expect((await bus.ask('routingSnapshot', { part: 0 })).map(({ by }) => by)).toEqual(['zeta'])

        await first.end()
        await until(() => textsOf(later).length === 0)
        await until(() => bus.said.some(({ by, name }) => by === 'alpha' && name === 'routingDelta'))
        bus.hear('heartbeat', { ...heartbeat, seq: 2 }, twin.nodeId)
        await until(async () => (await db.query('select id from nodes where heartbeat_seq = 2')).length === 1)
      })

      test('neither a failover nor a leader that gives the lease back and takes it again is taken for one', async () => {
        const f1 = aFrontend('f1')
        await until(() => f1.control.isLeading())
        const f2 = aFrontend('f2')
        await f1.end()
        await until(() => f2.control.isLeading())
        const again = aFrontend('f1')
        const turns = () => bus.said.filter(({ by, name }) => by === 'f2' && name === 'leader').length
        const enough = turns() + (1.5 * LEASE_MS) / 60
        await until(() => turns() > enough)
        expect([...textsOf(f1), ...textsOf(f2), ...textsOf(again)]).toEqual([])
      })
    })
  })
}
