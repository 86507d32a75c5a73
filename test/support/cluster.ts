import { join } from 'node:path'
import type { NodeView, ReplicaView } from '../../src/api/admin/schemas.ts'
import {
  startFrontend,
  startWorkerProcess,
  type Flotilla,
  type WorkerProcess,
  type WorkerProcessOptions,
} from './flotilla.ts'
import { until } from './until.ts'
import { freePort } from './http/free-port.ts'

/** Short, so that a dead node is noticed within a test; long enough for a busy machine. */
export const PACE = ['--heartbeat-ms', '300', '--offline-after-ms', '3000']
let workersStarted = 0

/** A frontend and its workers as processes of their own, each with a data folder of its own. */
export class Cluster {
  frontend: Flotilla
  readonly #args: string[]

  constructor(frontend: Flotilla, args: string[]) {
    this.frontend = frontend
    this.#args = args
  }

  static async start(...args: string[]): Promise<Cluster> {
    const all = [...PACE, ...args]
    const frontend = await startFrontend({ listen: `127.0.0.1:${await freePort()}`, args: all })
    return new Cluster(frontend, all)
  }

  worker(name: string, options: Partial<WorkerProcessOptions> = {}): WorkerProcess {
    const from = 23_000 + (workersStarted++ % 50) * 100
    const { args = [], ...rest } = options
    return startWorkerProcess({
      join: this.frontend.url,
      ...(rest.token === undefined ? { tokenFile: join(this.frontend.data, 'join.token') } : {}),
      name,
      ...rest,
      args: ['--engine-ports', `${from}-${from + 99}`, ...args],
    })
  }

  /** Starts workers and waits until they take part. */
  async members(...names: string[]): Promise<WorkerProcess[]> {
    const workers = names.map((name) => this.worker(name))
    for (const name of names) await this.isHealthy(name)
    return workers
  }

  async model(name: string, replicas: number, options: object = { ttft_ms: 0, tokens_per_s: 0 }): Promise<void> {
    await this.keep(name, replicas, {}, options)
    await until(() => this.answers(name))
  }

  /** A simulated model with a rule for nodes that have these labels; resolves when its replicas are ready. */
  async keep(name: string, replicas: number, nodeSelector: Record<string, string>, options: object): Promise<void> {
    await this.ask('POST', '/api/models', { name, engine: 'sim', options })
    const rule = { model_name: name, min_replicas: replicas, node_selector: nodeSelector }
    await this.ask('POST', '/api/nodes/scheduling', rule)
    await until(async () => (await this.ready(name)).length === replicas)
  }

  async ask<T>(method: string, path: string, body?: unknown): Promise<T> {
    const answer = await this.frontend.admin(method, path, body)
    if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
    return answer.body
  }

  async node(name: string): Promise<NodeView | undefined> {
    return (await this.ask<NodeView[]>('GET', '/api/nodes')).find((node) => node.name === name)
  }

  isHealthy(name: string): Promise<void> {
    return this.has(name, 'healthy')
  }

  has(name: string, status: NodeView['status']): Promise<void> {
    return until(async () => (await this.node(name))?.status === status)
  }

  async ready(model: string): Promise<ReplicaView[]> {
    const all = await this.ask<ReplicaView[]>('GET', '/api/replicas')
    return all.filter((replica) => replica.model_name === model && replica.state === 'ready')
  }

  /** Where the replicas of a model are, by the names of their nodes. */
  async places(model: string): Promise<string[]> {
    const nodes = await this.ask<NodeView[]>('GET', '/api/nodes')
    const names = (await this.ready(model)).map(({ node_id }) => nodes.find(({ id }) => id === node_id)!.name)
    return names.toSorted()
  }

  async answers(model: string): Promise<boolean> {
    const response = await this.chat(model)
    return response.ok && (await response.text()).includes('[DONE]')
  }

  chat(model: string): Promise<Response> {
    const messages = [{ role: 'user', content: 'Hello' }]
    return fetch(`${this.frontend.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model, stream: true, max_tokens: 60, messages }),
    })
  }

  /** The frontend again, after it was killed: the same address and data folder. */
  async restart(): Promise<void> {
    const { data, url } = this.frontend
    this.frontend = await startFrontend({ data, listen: new URL(url).host, args: this.#args })
  }
}
