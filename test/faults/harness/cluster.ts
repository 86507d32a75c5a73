import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { admitNode, type AdmittedNode } from '../../../fuzz/hostile/admit-node.ts'
import { newSecret } from '../../../src/platform/secrets.ts'
import { freePort } from '../../support/http/free-port.ts'
import { enginePids } from './engines.ts'
import { Ground } from './ground.ts'
import { Links } from './links.ts'
import { Member, runMain } from './member.ts'
import { mountSmallDisk, unmount } from './small-disk.ts'
import { until } from './until.ts'

/** What each model is asked to have. */
export const WANTED = { four: 4, pair: 2 } as const
export type ModelName = keyof typeof WANTED
const MODEL_OPTIONS = { ttft_ms: 20, tokens_per_s: 50 }
/** Short, so that a fault of some seconds is felt; a node that is silent for less than the second one stays in. */
const PACE = ['--heartbeat-ms', '500', '--offline-after-ms', '15000']
const PORTS_EACH = 40
/** Ports that no other test uses; two runs at once mostly have different ones. */
const FIRST_ENGINE_PORT = 30_000 + (process.pid % 6) * 5 * PORTS_EACH

/** Two frontends, two gateways and four workers, each with an address of its own, on PostgreSQL and NATS. */
export class Cluster {
  readonly folder: string
  readonly ground: Ground
  readonly links: Links
  readonly frontends: Member[] = []
  readonly gateways: Member[] = []
  readonly workers: Member[] = []
  /** Those that faults add. */
  readonly #guests: Member[] = []
  /** The worker whose disk is small, where the system lets us have one. */
  smallDisk: Member | undefined
  /** The gateway whose log is on a small disk of its own. */
  smallLogDisk: Member | undefined
  readonly adminKey = newSecret('fla')
  readonly #joinToken = newSecret('flj')

  private constructor(folder: string, ground: Ground) {
    this.folder = folder
    this.ground = ground
    this.links = new Links()
  }

  static async start(): Promise<Cluster> {
    const folder = mkdtempSync(join(tmpdir(), 'flotilla-faults-'))
    const ground = await Ground.start(folder)
    const cluster = new Cluster(folder, ground)
    try {
      await cluster.#build()
      await cluster.#load()
    } catch (error) {
      await cluster.dispose()
      throw error
    }
    return cluster
  }

  get members(): Member[] {
    return [...this.frontends, ...this.gateways, ...this.workers]
  }

  /** The frontend that leads, by the store. */
  async leader(): Promise<Member> {
    const [lease] = await this.ground.rows<{ owner: string }>("select owner from leases where name = 'leader'")
    const found = this.frontends.find(
      ({ data }) => readFileSync(join(data, 'frontend.id'), 'utf8').trim() === lease?.owner,
    )
    if (!found) throw new Error('Nobody leads.')
    return found
  }

  async follower(): Promise<Member> {
    const leader = await this.leader()
    return this.frontends.find((frontend) => frontend !== leader)!
  }

  async ask<T>(frontend: Member, method: string, path: string, body?: unknown): Promise<T> {
    const response = await fetch(`${frontend.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${this.adminKey}` },
      signal: AbortSignal.timeout(5000),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
    return (await response.json()) as T
  }

  /** A node that is no worker of ours, with what it needs for the bus. */
  admitNode(name: string): Promise<AdmittedNode> {
    return admitNode(this.frontends[0]!.url, this.#joinToken, name)
  }

  enginesOf(worker: Member): number[] {
    return enginePids(worker.data)
  }

  enginePortsOf(worker: Member): { from: number; to: number } {
    const from = FIRST_ENGINE_PORT + this.workers.indexOf(worker) * PORTS_EACH
    return { from, to: from + PORTS_EACH - 1 }
  }

  /** A second machine with the key of a worker, as an image that was made of it: it is not started. */
  async copyOf(worker: Member): Promise<Member> {
    const [place] = await places(`copy-of-${worker.name}`, 1, 41)
    const copy = await this.#worker(place!, worker.name, this.workers.length)
    copyFileSync(join(worker.data, 'node.seed'), join(copy.data, 'node.seed'))
    this.#guests.push(copy)
    return copy
  }

  /** A frontend on the same bus with a copy of the database in its own data folder: it is not started. */
  async frontendApart(): Promise<Member> {
    const [place] = await places('frontend-apart', 1, 51)
    const frontend = await this.#frontend(place!, [])
    const backup = join(frontend.folder, 'backup.jsonl')
    for (const name of ['cluster.secret', 'join.token'])
      copyFileSync(join(this.frontends[0]!.data, name), join(frontend.data, name))
    await runMain(['db', 'export', backup, '--database-url', this.ground.postgres.url, '--data', frontend.data])
    await runMain(['db', 'import', backup, '--data', frontend.data])
    this.#guests.push(frontend)
    return frontend
  }

  /** Leaves nothing behind: no process, no port, no file. */
  async dispose(): Promise<void> {
    for (const member of [...this.members, ...this.#guests]) {
      member.signal('SIGCONT')
      await member.kill()
    }
    for (const pid of [...this.workers, ...this.#guests].flatMap((worker) => this.enginesOf(worker))) kill(pid)
    await this.ground.dispose()
    this.links.dispose()
    for (const member of new Set([...this.members, ...this.#guests])) member.dispose()
    if (this.smallDisk) unmount(this.smallDisk.data)
    if (this.smallLogDisk) unmount(dirname(this.smallLogDisk.logFile))
    rmSync(this.folder, { recursive: true, force: true })
  }

  async #build(): Promise<void> {
    const frontends = await places('frontend', 2, 11)
    const gateways = await places('gateway', 2, 21)
    const workers = await places('worker', 4, 31)
    const { nats } = this.#shared()
    for (const place of frontends) {
      this.frontends.push(await this.#frontend(place, ['--database-url', this.ground.postgres.url], workers))
    }
    for (const [index, place] of gateways.entries()) {
      // The one is told of the bus, the other asks a frontend for it.
      const where = index === 0 ? this.#bus() : ['--url', this.frontends[0]!.url]
      const args = ['gateway', '--listen', `${place.host}:${place.port}`, '--expose-node-header', ...where]
      this.gateways.push(
        await this.#member(place, [nats, frontends[0]!, ...workers], args, { FLOTILLA_KEY: this.adminKey }),
      )
    }
    for (const [index, place] of workers.entries()) this.workers.push(await this.#worker(place, place.name, index))
    const last = this.workers.at(-1)!
    if (mountSmallDisk(last.data)) this.smallDisk = last
    const gateway = this.gateways.at(-1)!
    if (mountSmallDisk(dirname(gateway.logFile))) this.smallLogDisk = gateway
  }

  #shared(): { nats: Place; postgres: Place } {
    const [nats, store] = [new URL(this.ground.natsUrl), new URL(this.ground.postgres.url)]
    return {
      nats: { name: 'nats', host: nats.hostname, port: Number(nats.port) },
      postgres: { name: 'postgres', host: store.hostname, port: Number(store.port) },
    }
  }

  #bus(): string[] {
    return ['--nats-url', this.ground.natsUrl, '--nats-account-seed-file', this.ground.accountSeedFile]
  }

  async #frontend(place: Place, store: string[], workers: readonly Place[] = this.workers): Promise<Member> {
    const { nats, postgres } = this.#shared()
    const listen = ['--listen', `${place.host}:${place.port}`, ...store, ...this.#bus()]
    const frontend = await this.#member(
      place,
      [postgres, nats, ...workers],
      ['frontend', ...listen, '--auto-approve', ...PACE],
      {},
      true,
    )
    // Who has several frontends gives them the same key and token.
    writeFileSync(join(frontend.data, 'admin.key'), `${this.adminKey}\n`, { mode: 0o600 })
    writeFileSync(join(frontend.data, 'join.token'), `${this.#joinToken}\n`, { mode: 0o600 })
    return frontend
  }

  async #worker(place: Place, name: string, index: number): Promise<Member> {
    const { nats } = this.#shared()
    const from = FIRST_ENGINE_PORT + index * PORTS_EACH
    const ports = ['--engine-ports', `${from}-${from + PORTS_EACH - 1}`]
    const listen = ['--node-name', name, '--worker-listen', `${place.host}:${place.port}`]
    const joined = this.frontends.map(({ url }) => url).join(',')
    const args = ['worker', '--keep-engines', '--join', joined, ...listen, ...ports]
    return this.#member(place, [nats, ...this.frontends], args, { FLOTILLA_TOKEN: this.#joinToken })
  }

  async #member(
    place: Place,
    to: readonly Place[],
    args: string[],
    env: Record<string, string> = {},
    isPiped = false,
  ): Promise<Member> {
    const folder = join(this.folder, place.name)
    const data = join(folder, 'data')
    mkdirSync(data, { recursive: true, mode: 0o700 })
    const routes = await this.links.between(place.name, to)
    return new Member({
      ...place,
      folder,
      args: [...args, '--data', data, '--log-format', 'json'],
      env,
      routes,
      isPiped,
    })
  }

  async #load(): Promise<void> {
    // The first one makes the tables; two at once would have to wait for each other anyway.
    this.frontends[0]!.start()
    await this.frontends[0]!.serves()
    for (const member of this.members.slice(1)) member.start()
    const [frontend] = this.frontends
    for (const [name, count] of Object.entries(WANTED)) {
      await this.ask(frontend!, 'POST', '/api/models', { name, engine: 'sim', options: MODEL_OPTIONS })
      // As many at least as at most: how many there are must not depend on how busy they are.
      const rule = { model_name: name, min_replicas: count, max_replicas: count }
      await this.ask(frontend!, 'POST', '/api/nodes/scheduling', rule)
    }
    await Promise.all(this.members.map((member) => member.serves()))
    const isReady = async (): Promise<boolean> => {
      const replicas = await this.ask<{ state: string }[]>(frontend!, 'GET', '/api/replicas')
      return replicas.filter(({ state }) => state === 'ready').length === WANTED.four + WANTED.pair
    }
    await until(isReady, 60_000, 'all replicas are ready')
  }
}

interface Place {
  name: string
  host: string
  port: number
}

async function places(role: string, count: number, firstHost: number): Promise<Place[]> {
  const numbers = Array.from({ length: count }, (_, index) => index)
  return Promise.all(
    numbers.map(async (index) => ({
      name: `${role}-${index + 1}`,
      host: `127.0.0.${firstHost + index}`,
      port: await freePort(),
    })),
  )
}

function kill(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It has ended by itself.
  }
}
