import type { ReplicaView } from '../../src/api/admin/schemas.ts'
import type { Frontend } from './frontend-process.ts'
import { startPretendedGateway } from './pretended-gateway.ts'
import { PretendedNode, type Machine } from './pretended-node.ts'

export const NODES = 200
export const REPLICAS = 1000
const MODELS = 40
const EACH = REPLICAS / MODELS
/** As many changes a second as heartbeats: each brings other counts, memory and progress of its node. */
const CHANGES_PER_S = 50
/** Files of these arrive for minutes, so that there is always something on its way. */
const SLOW_EVERY = 13
const RESTART_EVERY_MS = 1000
const SETTLED = 0.9
const GIB = 1024 ** 3

export interface BigFleet {
  stop: () => Promise<void>
}

/**
 * 200 nodes that run 1,000 replicas of 40 models, placed by the frontend itself. Some rules cannot be met, two nodes wait for
 * approval, one drains and one has fallen silent. From then on nodes tell of 50 changes a second, and replicas are restarted.
 */
export async function startBigFleet(frontend: Frontend): Promise<BigFleet> {
  const nodes = await joinAll(frontend)
  const stopBeats = beat(nodes)
  await declare(frontend)
  await settle(frontend)
  const [quiet, draining] = [nodes[17]!, nodes[42]!]
  await frontend.ask('POST', `/api/nodes/${draining.id}/drain`)
  await quiet.leave()
  const gateway = await startPretendedGateway(frontend, () => nodes.flatMap((node) => node.reports()))
  const restarts = setInterval(() => void restartOne(frontend).catch(() => {}), RESTART_EVERY_MS)
  return {
    async stop() {
      clearInterval(restarts)
      stopBeats()
      await gateway.stop()
      await Promise.all(nodes.map((node) => node.leave()))
    },
  }
}

async function joinAll(frontend: Frontend): Promise<PretendedNode[]> {
  const nodes = Array.from({ length: NODES }, (_, i) => new PretendedNode(machine(i)))
  for (const node of nodes) {
    await node.register(frontend)
    await frontend.ask('POST', `/api/nodes/${node.id}/approve`)
    await node.join(frontend)
  }
  for (const i of [NODES, NODES + 1]) await new PretendedNode(machine(i)).register(frontend)
  return nodes
}

function machine(i: number): Machine {
  const cards = [
    { name: 'NVIDIA GeForce RTX 4090', bytes: 24 * GIB, count: 1 },
    { name: 'NVIDIA L40S', bytes: 48 * GIB, count: 2 },
    { name: 'NVIDIA H100 80GB HBM3', bytes: 80 * GIB, count: 8 },
    { name: 'none', bytes: 0, count: 0 },
  ]
  const rack = Math.floor(i / 20)
  return {
    name: `rack${String(rack).padStart(2, '0')}-node${String(i % 20).padStart(2, '0')}`,
    slots: [1, 1, 2, 4][i % 4]!,
    labels: { rack: `r${rack}`, tier: i % 3 === 0 ? 'fast' : 'standard', zone: `eu-${'abc'[i % 3]}` },
    cards: cards[[0, 1, 2, 0, 3][i % 5]!]!,
  }
}

/** Each node again every few seconds, one after another. */
function beat(nodes: readonly PretendedNode[]): () => void {
  let next = 0
  const timer = setInterval(() => {
    nodes[next]!.beat()
    next = (next + 1) % nodes.length
  }, 1000 / CHANGES_PER_S)
  return () => clearInterval(timer)
}

async function declare({ ask }: Frontend): Promise<void> {
  for (let i = 0; i < MODELS; i += 1) {
    const name = modelName(i)
    const options = { stage_s: i % SLOW_EVERY === 5 ? 240 : 3, fails: i === 7 }
    await ask('POST', '/api/models', { name, engine: 'sim', options, memory: { vram: '4GiB', ram: '1GiB' } })
    const replicas = { min_replicas: EACH, max_replicas: EACH }
    // What cannot start is tried on one node after another.
    const where = options.fails ? { node_selector: { rack: 'r3', tier: 'fast' } } : {}
    await ask('POST', '/api/nodes/scheduling', { model_name: name, ...replicas, ...where })
  }
  const unmet = { engine: 'sim', options: {}, memory: { vram: '900GiB', ram: '1GiB' } }
  for (const name of ['huge-moe-1t', 'acme/vision-pro-72b']) {
    await ask('POST', '/api/models', { name, ...unmet })
    await ask('POST', '/api/nodes/scheduling', { model_name: name, min_replicas: 2 })
  }
}

function modelName(i: number): string {
  const family = ['llama-3.3-8b', 'qwen-2.5-14b', 'mistral-small', 'gemma-3-12b', 'embed-large'][i % 5]!
  return i % 8 === 3 ? `some-organisation/${family}-instruct-with-a-long-name-${i}:q4_k_m` : `${family}-${i}`
}

async function settle({ ask }: Frontend): Promise<void> {
  const giveUpMs = Date.now() + 240_000
  for (;;) {
    const replicas = await ask<ReplicaView[]>('GET', '/api/replicas')
    const started = replicas.filter(({ state }) => state !== 'reserved').length
    if (started >= SETTLED * REPLICAS) return
    if (Date.now() > giveUpMs) throw new Error(`only ${started} of ${REPLICAS} replicas were started`)
    await new Promise((resolve) => setTimeout(resolve, 1000))
  }
}

async function restartOne({ ask }: Frontend): Promise<void> {
  const replicas = await ask<ReplicaView[]>('GET', '/api/replicas')
  const ready = replicas.filter(({ state }) => state === 'ready')
  const one = ready[Math.floor(Math.random() * ready.length)]
  if (one) await ask('POST', `/api/replicas/${one.id}/restart`, {})
}
