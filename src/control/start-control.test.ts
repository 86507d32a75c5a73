import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { HeartbeatMessage, RoutingPartMessage } from '../api/bus/messages.ts'
import type { Bus } from '../bus/bus.ts'
import { AppError } from '../platform/errors.ts'
import { silentLogger } from '../platform/run/log.ts'
import { openDatabase } from '../store/database.ts'
import { appendEvent, listEvents, type NewEvent } from '../store/nouns/events.ts'
import { saveModel } from '../store/nouns/models.ts'
import { listNodes } from '../store/nouns/nodes.ts'
import { KEPT_OF_OTHERS } from '../store/nouns/prune-models.ts'
import { listReplicas } from '../store/nouns/replicas.ts'
import { aHeartbeat, aModel, anEngine } from '../../test/support/builders.ts'
import { anApplicant, ControlScene, type Applicant } from '../../test/support/control/control-scene.ts'
import { tempFolder } from '../../test/support/temp-folder.ts'
import { until } from '../../test/support/until.ts'
import { VirtualClock } from '../../test/support/virtual-clock.ts'
import { startControl } from './start-control.ts'

/** Control as it runs, on a real store; the test is the bus and the clock. */
async function aControl() {
  const db = await openDatabase({ file: join(tempFolder(), 'flotilla.db') })
  const scene = await ControlScene.start(db, { autoApprove: true })
  await db.transaction((tx) => tx.query('update leases set expires_at = 0'))
  const clock = new VirtualClock(Date.now())
  const line = {
    connected: true,
    reconnected: () => {},
    heard: (_message: HeartbeatMessage, _nodeId: string) => {},
    request: (): Promise<unknown> => Promise.reject(new AppError('unavailable', 'nothing is listening')),
    /** Asks for the routing table. */
    snapshot: (_message: { part: number }): Promise<RoutingPartMessage | undefined> => Promise.resolve(undefined),
  }
  const bus = {
    publish() {},
    subscribe(name: string, handler: typeof line.heard) {
      if (name === 'heartbeat') line.heard = handler
    },
    respond(name: string, handler: typeof line.snapshot) {
      if (name === 'routingSnapshot') line.snapshot = handler
    },
    request: () => line.request(),
    onReconnect: (callback: () => void) => (line.reconnected = callback),
    isConnected: () => line.connected,
    dispose: async () => {},
  } as unknown as Bus
  let wakes = 0
  const control = startControl({
    db,
    bus,
    clock,
    log: silentLogger,
    owner: 'it',
    adminKey: () => 'fla_test',
    clusterId: 'c',
    clusterSecret: 'secret',
    liveness: { unreachableAfterMs: 15_000, offlineAfterMs: 60_000 },
    events: { wake: () => (wakes += 1) },
    placement: 'spread',
    modelsFolder: '/nowhere',
    hub: { endpoint: 'http://127.0.0.1:9', token: undefined },
  })
  onTestFinished(async () => {
    await control.dispose()
    await scene.end()
    await db.close()
  })
  const livenessOf = async (): Promise<string[]> => (await listNodes(db)).map(({ liveness }) => liveness)
  const beat = (who: Applicant, facts: Partial<HeartbeatMessage> = {}): void => {
    who.seq += 1
    line.heard(aHeartbeat({ boot_id: who.bootId, seq: who.seq, ...facts }), who.nodeId)
  }
  /** Long enough for a turn to have begun; what it writes to the store takes real time. */
  const turn = async (): Promise<void> => {
    const before = await leaseEnd()
    control.wake()
    await until(async () => {
      await clock.advance(10)
      return (await leaseEnd()) > before
    })
    control.wake()
    const after = await leaseEnd()
    await until(async () => {
      await clock.advance(10)
      return (await leaseEnd()) > after
    })
  }
  const leaseEnd = async (): Promise<number> => {
    const [lease] = await db.query<{ expires_at: number }>('select expires_at from leases')
    return lease!.expires_at
  }
  /** Every change is an event, and a turn goes by these. */
  const tell = (...about: Pick<NewEvent, 'modelName' | 'nodeId'>[]): Promise<void> =>
    db.transaction(async (tx) => {
      for (const one of about) await appendEvent(tx, { actor: 'admin', action: 'test.changed', reason: '', ...one })
    })
  const wants = async (minReplicas: number): Promise<void> => {
    await scene.wants(minReplicas)
    await tell({ modelName: 'm' })
  }
  await until(async () => {
    await clock.advance(10)
    return control.isLeading()
  })
  return { scene, db, clock, line, control, beat, turn, livenessOf, tell, wants, wakes: () => wakes }
}

test('heartbeats are written, and readers of the events are told', async () => {
  const { scene, beat, livenessOf, wakes } = await aControl()
  const nodes = [anApplicant('a'), anApplicant('b')]
  for (const node of nodes) {
    await scene.register(node)
    beat(node)
  }
  await until(async () => (await livenessOf()).every((liveness) => liveness === 'online'))
  await until(() => wakes() > 0)
  expect(await livenessOf()).toEqual(['online', 'online'])
})

test('a leader that has just begun, or whose bus was away, takes no node for silent', async () => {
  const { scene, db, line, beat, turn, livenessOf, control } = await aControl()
  const node = anApplicant()
  await scene.register(node)
  beat(node)
  await until(async () => (await livenessOf())[0] === 'online')
  await scene.silentFor(3_600_000, node)
  await turn()
  expect(await livenessOf()).toEqual(['online'])
  line.connected = false
  await turn()
  line.connected = true
  line.reconnected()
  await turn()
  expect(await livenessOf()).toEqual(['online'])
  expect(control.problem()).toBeUndefined()
  expect((await listEvents(db, 0, 100)).map(({ action }) => action)).not.toContain('node.offline')
})

test('what went wrong is told until it goes well again, also by one that leads no more', async () => {
  const { db, clock, control } = await aControl()
  const run = (text: string): Promise<unknown> => db.transaction((tx) => tx.query(text))
  const soon = (isSo: () => boolean): Promise<void> =>
    until(async () => {
      await clock.advance(100)
      return isSo()
    })
  await run('alter table leases rename to leases_away')
  await soon(() => control.problem() !== undefined)
  await run('alter table leases_away rename to leases')
  await run("update leases set owner = 'another', epoch = epoch + 1, expires_at = now_ms() + 3600000")
  await soon(() => control.problem() === undefined)
  expect(control.isLeading()).toBe(false)
})

test('a leader that has not looked at the store yet does not tell gateways that there is nothing', async () => {
  const { db, clock, line, control, scene, tell } = await aControl()
  await scene.wants(1)
  await tell({ modelName: 'm' })
  const run = (text: string): Promise<unknown> => db.transaction((tx) => tx.query(text))
  const soon = (isSo: () => boolean): Promise<void> =>
    until(async () => {
      await clock.advance(100)
      return isSo()
    })
  await run("update leases set owner = 'another', epoch = epoch + 1, expires_at = now_ms() + 3600000")
  await soon(() => !control.isLeading())
  expect(await line.snapshot({ part: 0 })).toBeUndefined()
  // It comes to lead, and its first turn fails.
  await run('alter table models rename to models_away')
  await run('update leases set expires_at = 0')
  await soon(() => control.isLeading() && control.problem() !== undefined)
  const asked = line.snapshot({ part: 0 })
  await run('alter table models_away rename to models')
  await soon(() => control.problem() === undefined)
  expect((await asked)?.models.map(({ name }) => name)).toEqual(['m'])
})

test('the nodes of a mass disappearance are known by name until one is back', async () => {
  const { scene, db, beat, turn, livenessOf, control, tell } = await aControl()
  const nodes = ['a', 'b', 'c'].map((name) => anApplicant(name))
  for (const node of nodes) {
    await scene.register(node)
    beat(node)
  }
  await until(async () => !(await livenessOf()).includes('offline'))
  await db.transaction((tx) => tx.query("update nodes set liveness = 'offline' where name <> 'c'"))
  await tell(...nodes.map(({ nodeId }) => ({ nodeId })))
  await turn()
  expect(control.frozen()).toEqual(['a', 'b'])
  beat(nodes[0]!)
  await until(async () => (await livenessOf())[0] === 'online')
  await turn()
  expect(control.frozen()).toEqual([])
})

test('a rule that waits for an engine is met as soon as a heartbeat says that it is there', async () => {
  const { scene, db, beat, turn, clock, livenessOf, wants } = await aControl()
  const node = anApplicant()
  await scene.register(node)
  await wants(1)
  beat(node, { engines: [anEngine({ state: 'missing', reason: 'no program' })] })
  await until(async () => (await livenessOf())[0] === 'online')
  await turn()
  expect(await listReplicas(db)).toEqual([])
  const before = clock.nowMs()
  beat(node)
  await until(async () => {
    await clock.advance(1)
    return (await listReplicas(db)).length === 1
  })
  // By a wake, not by the period of 3 s.
  expect(clock.nowMs() - before).toBeLessThan(2500)
})

test('a rule that waits for room is met as soon as a heartbeat says that there is more', async () => {
  const { scene, db, beat, turn, clock, livenessOf, tell } = await aControl()
  const GIB = 2 ** 30
  const node = anApplicant()
  await scene.register(node)
  await scene.wants(1)
  await db.transaction((tx) => saveModel(tx, aModel({ memory: { vram: 0, ram: 8 * GIB } })))
  await tell({ modelName: 'm' })
  const full = { total_ram: 32 * GIB, available_ram: 2 * GIB }
  beat(node, full)
  await until(async () => (await livenessOf())[0] === 'online')
  await turn()
  expect(await listReplicas(db)).toEqual([])
  const before = clock.nowMs()
  beat(node, { ...full, available_ram: 16 * GIB })
  await until(async () => {
    await clock.advance(1)
    return (await listReplicas(db)).length === 1
  })
  // By a wake, not by the period of 3 s.
  expect(clock.nowMs() - before).toBeLessThan(2500)
})

test('what a worker refuses to start has failed, and is told', async () => {
  const { scene, db, line, beat, turn, wakes, livenessOf, wants } = await aControl()
  const node = anApplicant()
  await scene.register(node)
  await wants(1)
  line.request = () => Promise.reject(new AppError('conflict', 'no port is free\n8 of 8 are taken'))
  beat(node)
  await until(async () => (await livenessOf())[0] === 'online')
  await turn()
  await until(async () => (await listReplicas(db))[0]?.state === 'failed')
  const failed = (await listEvents(db, 0, 100)).filter(({ action }) => action === 'replica.failed')
  expect(failed).toMatchObject([
    { reason: 'no port is free. It said last: 8 of 8 are taken', data: { key: 'm#0', node: 'thor', exit_code: null } },
  ])
  expect(wakes()).toBeGreaterThan(1)
})

test('a start that is accepted is in its first phase until a heartbeat says more', async () => {
  const { scene, db, line, beat, turn, livenessOf, wants } = await aControl()
  const node = anApplicant()
  await scene.register(node)
  await wants(1)
  line.request = async () => ({ known_from_seq: 7 })
  beat(node)
  await until(async () => (await livenessOf())[0] === 'online')
  await turn()
  await until(async () => (await listReplicas(db))[0]?.state === 'installing')
  expect(await listReplicas(db)).toMatchObject([{ knownFromSeq: 7 }])
})

test('rows of models that no longer exist are pruned while it leads', async () => {
  const { db, clock, turn } = await aControl()
  await db.transaction(async (tx) => {
    for (let i = 0; i < KEPT_OF_OTHERS + 3; i += 1) {
      await tx.query(`insert into model_facts (model_name, revision, read_at) values ($1, 'r', $2)`, [`gone${i}`, i])
    }
  })
  await clock.advance(5 * 60_000)
  await turn()
  const [left] = await db.query<{ n: number; oldest: number }>(
    'select count(*) as n, min(read_at) as oldest from model_facts',
  )
  expect(left).toEqual({ n: KEPT_OF_OTHERS, oldest: 3 })
})
