import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { NodeView, ReplicaView, TokenView } from '../../../src/api/admin/schemas.ts'
import type { Terminal } from '../../../src/cli/terminal/terminal.ts'
import type { Clock } from '../../../src/platform/run/clock.ts'
import { bearerToken, readBody, sendJson } from '../../../src/http/server.ts'
import { runCommand, type Said } from './cli-command.ts'
import { serve } from '../http/http.ts'
import { tempFolder } from '../temp-folder.ts'

/** A cluster that answers from a table, and a command line that talks to it. */

export interface FakeCluster {
  url: string
  /** A data folder as the frontend of this cluster keeps it. */
  data: string
  /** Every call as `METHOD path`, with its body when it has one. */
  calls: (string | [string, unknown])[]
}

/** What is answered to `METHOD path`: a body, a status with a body, or a function that makes either. */
export type Answers = Record<string, unknown>

export class Refused {
  readonly status: number
  readonly body: unknown
  constructor(status: number, body: unknown) {
    this.status = status
    this.body = body
  }
}

export function refused(status: number, code: string, message: string, param: string | null = null): Refused {
  return new Refused(status, { error: { code, message, type: 'x', param } })
}

export const ADMIN_KEY = 'fla_key'

export async function aCluster(answers: Answers): Promise<FakeCluster> {
  const calls: FakeCluster['calls'] = []
  const url = await serve(async (request, response) => {
    const call = `${request.method} ${request.url}`
    const text = (await readBody(request, 1e6)).toString('utf8')
    calls.push(text === '' ? call : [call, JSON.parse(text)])
    // What stands after the ? has an answer of its own only where a test cares.
    const found = answers[call] ?? answers[call.replace(/\?.*$/, '')]
    const made: unknown = typeof found === 'function' ? (found as () => unknown)() : found
    const answer = made === undefined ? refused(404, 'not_found', `There is no ${call}.`) : made
    if (bearerToken(request) !== ADMIN_KEY) sendJson(response, 401, refused(401, 'unauthorized', 'Wrong key.').body)
    else if (answer instanceof Refused) sendJson(response, answer.status, answer.body)
    else sendJson(response, 200, answer)
  })
  const data = tempFolder()
  writeFileSync(join(data, 'endpoint.json'), JSON.stringify({ url, listen: new URL(url).host }))
  writeFileSync(join(data, 'admin.key'), `${ADMIN_KEY}\n`)
  return { url, data, calls }
}

export interface Person {
  env?: Record<string, string>
  terminal?: Partial<Pick<Terminal, 'columns' | 'colour' | 'interactive' | 'ask' | 'interrupted'>>
}

/** Runs a command to its end. */
export function flotilla(args: readonly string[], person: Person = {}): Promise<Said> {
  return runCommand(args, { ...person, clock: hurried }).ended
}

/** A clock on which nothing takes time. */
const hurried: Clock = {
  nowMs: () => Date.now(),
  after(_delayMs, callback) {
    const soon = setImmediate(callback)
    return () => clearImmediate(soon)
  },
}

const GIB = 2 ** 30

/** A healthy node with one GPU. */
export function aNodeView(fields: Partial<NodeView> = {}): NodeView {
  const nowMs = Date.now()
  return {
    id: '0198c7a0-1111-7000-8000-000000000001',
    name: 'gpu-1',
    node_type: 'backend',
    status: 'healthy',
    approved: true,
    desired: 'active',
    liveness: 'online',
    liveness_since: nowMs - 2 * 3_600_000,
    public_key: `U${'A'.repeat(55)}`,
    address: '10.0.0.7:9090',
    version: '0.1.0',
    labels: { 'gpu.vendor': 'nvidia', 'node.replica-slots': '1' },
    label_sources: { 'gpu.vendor': 'auto', 'node.replica-slots': 'auto' },
    max_replicas_per_model: 1,
    max_replicas_declared: 1,
    max_replicas_per_model_manually_set: false,
    above_cap: 0,
    vram_budget: null,
    vram_budget_bytes: null,
    vram_budget_declared: null,
    vram_budget_manually_set: false,
    vram_budget_left: null,
    gpu_vendor: 'nvidia',
    devices: [
      {
        index: 0,
        uuid: 'GPU-5f2b7c1e',
        name: 'NVIDIA GeForce RTX 4090',
        total_vram: 24 * GIB,
        available_vram: 18.25 * GIB,
        unified: false,
      },
    ],
    total_vram: 24 * GIB,
    available_vram: 18.25 * GIB,
    reserved_vram: 0,
    reserved_vram_by_device: [0],
    reserved_ram: 0,
    total_ram: 64 * GIB,
    available_ram: 41.5 * GIB,
    total_disk: 930 * GIB,
    available_disk: 512 * GIB,
    model_count: 1,
    replica_count: 1,
    in_flight_count: 0,
    last_heartbeat: nowMs - 3000,
    registered_at: nowMs - 5 * 86_400_000,
    ...fields,
  }
}

export function aReplicaView(fields: Partial<ReplicaView> = {}): ReplicaView {
  return {
    id: 'r1',
    node_id: '0198c7a0-1111-7000-8000-000000000001',
    model_name: 'sim',
    replica_index: 0,
    generation: 1,
    revision: 'x',
    state: 'ready',
    in_flight: 0,
    progress: null,
    error: null,
    last_exit: null,
    claim: null,
    measured: null,
    last_used_at: null,
    ready_at: null,
    ...fields,
  }
}

export function aTokenView(fields: Partial<TokenView> = {}): TokenView {
  return {
    id: '0198c7a0-4444-7000-8000-000000000001',
    name: 'default',
    state: 'active',
    created_at: Date.now(),
    expires_at: null,
    max_uses: null,
    uses: 4,
    last_used_at: null,
    ...fields,
  }
}
