import type { NodeRegistration, NodeView, Registered } from '../../../src/api/admin/schemas.ts'
import { SPOKEN } from '../../../src/platform/peer-versions.ts'
import type { HeartbeatMessage } from '../../../src/api/bus/messages.ts'
import { RUN_HEADER } from '../../../src/api/node-run.ts'
import { signedText } from '../../../src/api/node-signature.ts'
import { newSeed, publicKeyOf, sign } from '../../../src/bus/nkey.ts'
import { adminApi } from '../../../src/control/api/admin-api.ts'
import type { AdminDeps } from '../../../src/control/api/deps.ts'
import { toModel } from '../../../src/control/api/nouns/models/models.ts'
import { ensureDefaultToken } from '../../../src/control/api/nouns/tokens.ts'
import { Conditions } from '../../../src/control/watch/conditions.ts'
import { startEventFeed, type EventFeed } from '../../../src/control/changes/event-feed.ts'
import { controlEvents } from '../../../src/control/turn/narrate.ts'
import type { Heard } from '../../../src/control/views/live/picture.ts'
import { startLiveFeed, type LiveFeed } from '../../../src/control/views/live/live-feed.ts'
import { changedNodes, takeHeartbeats, type HeartbeatOutcome } from '../../../src/control/heartbeats/take.ts'
import type { KeptWorld } from '../../../src/control/turn/world-cache.ts'
import { OwnWrites } from '../../../src/control/turn/own-changes.ts'
import { Traffic } from '../../../src/control/routing/traffic.ts'
import { reconcileOnce, type TurnContext, type TurnOutcome } from '../../../src/control/turn/turn.ts'
import { canonicalJson } from '../../../src/core/lib/canonical-json.ts'
import { formatAddress } from '../../../src/platform/address.ts'
import { systemClock } from '../../../src/platform/run/clock.ts'
import { startHttpServer } from '../../../src/http/server.ts'
import { silentLogger } from '../../../src/platform/run/log.ts'
import type { Database } from '../../../src/store/sql.ts'
import { acquireLease, type HeldLease } from '../../../src/store/nouns/leases.ts'
import { saveModel } from '../../../src/store/nouns/models.ts'
import { saveRule } from '../../../src/store/nouns/rules.ts'
import { aHeartbeat, aRule } from '../builders.ts'
import { ScriptedWorker } from './scripted-worker.ts'

export const ADMIN_KEY = 'fla_test_admin_key'
export const CLUSTER_ID = 'test-cluster'
export const JOIN_TOKEN = 'join'
const LIMITS = { unreachableAfterMs: 15_000, offlineAfterMs: 60_000 }

export interface Answer<T = Record<string, unknown>> {
  status: number
  body: T
}

/** A machine that wants to take part. */
export interface Applicant {
  seed: string
  publicKey: string
  name: string
  bootId: string
  /** Which run of its worker it says it is; without it, it is a worker of the release before. */
  run?: string | undefined
  seq: number
  /** What registration gave it. */
  nodeId: string
}

export function anApplicant(name = 'thor'): Applicant {
  const seed = newSeed()
  return { seed, publicKey: publicKeyOf(seed), name, bootId: 'boot1', seq: 0, nodeId: '' }
}

/** The admin API on a real server and a real store, and the parts of control that a test drives by hand. */
export class ControlScene {
  readonly db: Database
  readonly url: string
  readonly feed: EventFeed
  lease: HeldLease
  readonly deps: AdminDeps
  /** What the program around the API was asked for. */
  readonly asked: Asked
  /** All workers on the bus. */
  readonly worker: ScriptedWorker
  /** When rules without room were last counted; cleared, the next turn counts, however soon it comes. */
  readonly ticks = new Map<string, number>()
  readonly own = new OwnWrites()
  #kept: KeptWorld | undefined
  readonly #end: () => Promise<void>

  private constructor(
    parts: Pick<ControlScene, 'db' | 'url' | 'feed' | 'lease' | 'deps' | 'asked' | 'worker'>,
    end: () => Promise<void>,
  ) {
    this.db = parts.db
    this.url = parts.url
    this.feed = parts.feed
    this.lease = parts.lease
    this.deps = parts.deps
    this.asked = parts.asked
    this.worker = parts.worker
    this.#end = end
  }

  static async start(db: Database, options: Partial<AdminDeps> = {}): Promise<ControlScene> {
    const conditions = options.conditions ?? new Conditions(silentLogger)
    const live = startLiveFeed({
      db,
      clock: systemClock,
      log: silentLogger,
      placement: 'spread',
      heard: nothingHeard,
      conditions,
    })
    const feed = startEventFeed({ db, clock: systemClock, log: silentLogger, onWake: () => live.wake() })
    const asked: Asked = {
      approved: [],
      removed: [],
      credentials: [],
      changes: 0,
      defaultToken: JOIN_TOKEN,
      adminKey: ADMIN_KEY,
    }
    const worker = new ScriptedWorker()
    const ending = new AbortController()
    const deps = { ...depsFor(db, { feed, live }, asked, worker, ending.signal), conditions, ...options }
    await ensureDefaultToken(db, JOIN_TOKEN)
    const server = await startHttpServer({
      listen: { host: '127.0.0.1', port: 0 },
      purpose: 'a test',
      flag: '--none',
      handler: adminApi(deps),
      log: silentLogger,
    })
    const url = `http://${formatAddress(server.address)}`
    return new ControlScene({ db, url, feed, lease: await lead(db, 'me'), deps, asked, worker }, async () => {
      ending.abort()
      await feed.dispose()
      await live.dispose()
      await server.dispose(0)
    })
  }

  end(): Promise<void> {
    return this.#end()
  }

  async call<T>(
    method: string,
    path: string,
    body?: unknown,
    authorization?: string,
    run?: string,
  ): Promise<Answer<T>> {
    const response = await fetch(`${this.url}${path}`, {
      method,
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      headers: {
        ...(authorization === undefined ? {} : { authorization }),
        ...(run === undefined ? {} : { [RUN_HEADER]: run }),
      },
    })
    return { status: response.status, body: (await response.json()) as T }
  }

  admin<T = never>(method: string, path: string, body?: unknown): Promise<Answer<T>> {
    return this.call<T>(method, path, body, `Bearer ${this.asked.adminKey}`)
  }

  /** A call that `who` signs. */
  signed<T = Registered>(
    who: Applicant,
    method: string,
    path: string,
    signedAtMs = Date.now(),
    body?: object,
  ): Promise<Answer<T>> {
    return this.call<T>(method, path, body, signatureOf(who, method, path, signedAtMs), who.run)
  }

  /** Registers over HTTP; the applicant remembers its id. */
  async register(
    who: Applicant,
    fields: Partial<NodeRegistration> = {},
    { token = JOIN_TOKEN, seed = who.seed, old }: { token?: string; seed?: string; old?: Applicant } = {},
  ): Promise<Answer<Registered>> {
    const registration = aRegistration(who, fields)
    const text = canonicalJson(registration)
    const replaces = old && { public_key: old.publicKey, signature: sign(old.seed, text) }
    const body = { registration, signature: sign(seed, text), ...(replaces ? { replaces } : {}) }
    const answer = await this.call<Registered>('POST', '/api/node/register', body, `Bearer ${token}`, who.run)
    if (answer.status === 200) who.nodeId = answer.body.node_id
    return answer
  }

  async heartbeat(
    who: Applicant,
    replicas: HeartbeatMessage['replicas'] = [],
    facts: Partial<HeartbeatMessage> = {},
  ): Promise<HeartbeatOutcome | undefined> {
    return (await this.heartbeats([{ who, replicas, ...facts }]))[0]
  }

  /** Several in one transaction, as when many arrive together. */
  async heartbeats(all: readonly (Partial<HeartbeatMessage> & { who: Applicant })[]): Promise<HeartbeatOutcome[]> {
    const batch = all.map(({ who, ...facts }) => {
      who.seq += 1
      return {
        nodeId: who.nodeId,
        heartbeat: aHeartbeat({
          boot_id: who.bootId,
          ...(who.run === undefined ? {} : { run_id: who.run }),
          seq: who.seq,
          ...facts,
        }),
      }
    })
    const take = () => takeHeartbeats(this.db, this.lease, controlEvents(silentLogger), batch)
    return this.own.during({ nodeIds: batch.map(({ nodeId }) => nodeId) }, take, changedNodes)
  }

  /** A turn of a leader that has listened since `sinceMs` and had a turn just now. */
  turn(lease = this.lease, sinceMs = 0, lastTurnMs = Date.now(), answering: string[] = []): Promise<TurnOutcome> {
    return reconcileOnce(this.db, lease, this.#context(sinceMs, lastTurnMs, answering))
  }

  /** The same of one that goes on from what its last such turn left, and reads only what has changed. */
  async keptTurn(): Promise<TurnOutcome> {
    const mark = this.own.mark()
    const context = { ...this.#context(0, Date.now(), []), kept: this.#kept, ownTouched: () => this.own.touched() }
    const outcome = await reconcileOnce(this.db, this.lease, context)
    this.#kept = outcome.kept
    this.own.forget(mark)
    return outcome
  }

  #context(sinceMs: number, lastTurnMs: number, answering: string[]): TurnContext {
    const hearing = { sinceMs, lastTurnMs }
    return {
      limits: LIMITS,
      policy: 'spread',
      hearing,
      answering,
      wasFrozen: undefined,
      ticks: this.ticks,
      loadsOf: () => [],
    }
  }

  async silentFor(ms: number, ...who: Applicant[]): Promise<void> {
    await this.db.transaction(async (tx) => {
      for (const { nodeId } of who) {
        await tx.query('update nodes set last_heartbeat = now_ms() - $1 where id = $2', [ms, nodeId])
      }
    })
  }

  async node(who: Applicant): Promise<NodeView> {
    return (await this.admin<NodeView>('GET', `/api/nodes/${who.nodeId}`)).body
  }

  /** A model `m` and a rule that wants so many replicas of it, perhaps only on nodes with these labels. */
  async wants(minReplicas: number, nodeSelector: Record<string, string> = {}): Promise<void> {
    await this.db.transaction(async (tx) => {
      await saveModel(
        tx,
        toModel({ name: 'm', engine: 'sim', source: null, options: {}, memory: null, anti_affinity: null }),
      )
      await saveRule(tx, aRule({ minReplicas, nodeSelector }))
    })
  }
}

/** No gateway says anything. */
const nothingHeard: Heard = {
  inFlightOf: ({ inFlight }) => inFlight,
  waitingFor: () => 0,
  traffic: () => new Traffic(systemClock).view(),
}

interface Asked {
  approved: string[]
  removed: string[]
  credentials: string[]
  changes: number
  defaultToken: string
  adminKey: string
}

function depsFor(
  db: Database,
  { feed, live }: { feed: EventFeed; live: LiveFeed },
  asked: Asked,
  worker: ScriptedWorker,
  ending: AbortSignal,
): Omit<AdminDeps, 'conditions'> {
  return {
    db,
    events: feed,
    live,
    log: silentLogger,
    clock: systemClock,
    ending,
    modelsFolder: '/nowhere',
    hub: { endpoint: 'http://127.0.0.1:9', token: undefined },
    placement: 'spread',
    adminKey: () => asked.adminKey,
    replaceAdminKey: (key) => void (asked.adminKey = key),
    clusterSecret: 'secret',
    clusterId: CLUSTER_ID,
    heartbeatPeriodMs: 5000,
    autoApprove: false,
    approves: () => false,
    credentialsFor(_nodeId, publicKey) {
      asked.credentials.push(publicKey)
      return { bus_url: 'nats://bus:4222', bus_jwt: null }
    },
    gatewayCredentialsFor: () => ({ bus_url: 'nats://bus:4222', bus_jwt: null }),
    onNodeApproved: (publicKey) => void asked.approved.push(publicKey),
    onNodeRemoved: (_nodeId, publicKey) => void asked.removed.push(publicKey),
    defaultToken: () => asked.defaultToken,
    replaceDefaultToken: (token) => void (asked.defaultToken = token),
    onChange: () => void (asked.changes += 1),
    bus: worker,
  }
}

export async function lead(db: Database, owner: string): Promise<HeldLease> {
  const answer = await acquireLease(db, { name: 'leader', owner, ttlMs: 60_000 })
  if (!('epoch' in answer)) throw new Error('somebody else leads')
  return { name: 'leader', owner, epoch: answer.epoch }
}

export function aRegistration(who: Applicant, fields: Partial<NodeRegistration> = {}): NodeRegistration {
  return {
    protocol: SPOKEN.newest,
    name: who.name,
    node_type: 'backend',
    public_key: who.publicKey,
    address: '127.0.0.1:9090',
    version: '1',
    boot_id: who.bootId,
    max_replicas_per_model: 1,
    vram_budget: null,
    labels: {},
    auto_labels: {},
    signed_at: Date.now(),
    ...fields,
  }
}

export function signatureOf(who: Applicant, method: string, path: string, signedAtMs: number): string {
  return `Node ${signedAtMs}.${sign(who.seed, signedText(method, path, signedAtMs))}`
}
