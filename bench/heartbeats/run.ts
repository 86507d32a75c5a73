import { spawn, type ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { NodeRegistration, Registered } from '../../src/api/admin/schemas.ts'
import { SPOKEN } from '../../src/platform/peer-versions.ts'
import { connectBus, type Bus } from '../../src/bus/bus.ts'
import { newSeed, publicKeyOf, sign } from '../../src/bus/nkey.ts'
import { canonicalJson } from '../../src/core/lib/canonical-json.ts'
import { silentLogger } from '../../src/platform/run/log.ts'

/**
 * What the heartbeats of a fleet cost the frontend that leads: its share of one core while nodes beat every 5 s over the
 * bus, each with a GPU and nine engines to tell of, beside the same frontend with no nodes at all. The nodes are real bus
 * clients with credentials of their own; only their machines are made up. Store and bus are the embedded ones.
 */
const FLEETS = [0, 100, 500]
const PERIOD_MS = 5000
const MEASURE_MS = 20_000
const nodeIds = new WeakMap<Bus, string>()
const bootId = randomUUID()
const engines = Array.from({ length: 9 }, (_, i) => ({
  name: `engine-${i}`,
  source: 'built-in' as const,
  state: i === 0 ? ('available' as const) : ('missing' as const),
  reason: i === 0 ? null : `the program engine-${i} is neither installed nor in PATH`,
  version: null,
  serves: ['/v1/chat/completions', '/v1/completions', '/v1/models'],
  memory: 'on_load' as const,
  uses: { device: 'either' as const },
  operation: null,
}))
const root = fileURLToPath(new URL('../..', import.meta.url))

console.log(
  `CPU of the leading frontend while nodes send heartbeats every ${PERIOD_MS / 1000} s (embedded store and bus)\n`,
)
console.log(`${'nodes'.padStart(6)}${'of one core'.padStart(14)}${'against idle'.padStart(15)}${'memory'.padStart(10)}`)
let idle = 0
for (const nodes of FLEETS) {
  const { share, megabytes } = await measure(nodes)
  if (nodes === 0) idle = share
  const against = nodes === 0 ? '' : `${(share / idle).toFixed(1)} times`
  console.log(
    `${String(nodes).padStart(6)}${share.toFixed(3).padStart(14)}${against.padStart(15)}${`${megabytes} MB`.padStart(10)}`,
  )
}

async function measure(nodes: number): Promise<{ share: number; megabytes: number }> {
  const folder = mkdtempSync(join(tmpdir(), 'flotilla-bench-'))
  const frontend = await startFrontend(folder)
  const fleet: Bus[] = []
  try {
    for (let i = 0; i < nodes; i += 1) fleet.push(await joinFleet(frontend.url, folder, i))
    const stop = beat(fleet)
    await pause(PERIOD_MS)
    const before = cpuSeconds(frontend.child.pid!)
    await pause(MEASURE_MS)
    const share = (cpuSeconds(frontend.child.pid!) - before) / (MEASURE_MS / 1000)
    stop()
    await checkOnline(frontend.url, folder, nodes)
    const rss = /^Rss: +(\d+) kB/m.exec(readFileSync(`/proc/${frontend.child.pid}/smaps_rollup`, 'utf8'))![1]
    return { share, megabytes: Math.round(Number(rss) / 1024) }
  } finally {
    await Promise.all(fleet.map((bus) => bus.dispose()))
    const ended = once(frontend.child, 'exit')
    frontend.child.kill('SIGTERM')
    await ended
    rmSync(folder, { recursive: true, force: true })
  }
}

async function startFrontend(folder: string): Promise<{ child: ChildProcess; url: string }> {
  const ready = join(folder, 'ready.json')
  const args = [
    'frontend',
    '--data',
    join(folder, 'data'),
    '--listen',
    '127.0.0.1:0',
    '--auto-approve',
    '--ready-file',
    ready,
  ]
  const child = spawn(process.execPath, ['scripts/bootstrap.js', 'src/main.ts', ...args], {
    cwd: root,
    stdio: 'ignore',
  })
  while (!existsSync(ready) || !readFileSync(ready, 'utf8').endsWith('\n')) {
    if (child.exitCode !== null) throw new Error(`the frontend ended with ${child.exitCode}`)
    await pause(10)
  }
  return { child, url: (JSON.parse(readFileSync(ready, 'utf8')) as { url: string }).url }
}

async function joinFleet(url: string, folder: string, index: number): Promise<Bus> {
  const seed = newSeed()
  const registration: NodeRegistration = {
    protocol: SPOKEN.newest,
    name: `node${index}`,
    node_type: 'backend',
    public_key: publicKeyOf(seed),
    address: '127.0.0.1:9',
    version: 'bench',
    boot_id: bootId,
    max_replicas_per_model: 1,
    vram_budget: null,
    labels: { tier: 'bench' },
    auto_labels: {},
    signed_at: Date.now(),
  }
  const body = JSON.stringify({ registration, signature: sign(seed, canonicalJson(registration)) })
  const token = readFileSync(join(folder, 'data/join.token'), 'utf8').trim()
  const response = await fetch(`${url}/api/node/register`, {
    method: 'POST',
    body,
    headers: { authorization: `Bearer ${token}` },
  })
  const { node_id: nodeId, credentials } = (await response.json()) as Registered
  if (!credentials) throw new Error('the frontend did not approve the node')
  const bus = await connectBus({
    address: { url: credentials.bus_url, seed },
    role: 'node',
    clientId: nodeId,
    log: silentLogger,
  })
  nodeIds.set(bus, nodeId)
  return bus
}

/** Each node beats every period, all of them spread evenly over it, as machines that were started by hand do. */
function beat(fleet: readonly Bus[]): () => void {
  let seq = 0
  let next = 0
  const each = setInterval(
    () => {
      if (next === 0) seq += 1
      const bus = fleet[next]!
      bus.publish('heartbeat', { boot_id: bootId, seq, replicas: [], engines, ...machine() }, nodeIds.get(bus))
      next = (next + 1) % fleet.length
    },
    PERIOD_MS / Math.max(1, fleet.length),
  )
  if (fleet.length === 0) clearInterval(each)
  return () => clearInterval(each)
}

function machine() {
  const free = Math.floor(Math.random() * 24e9)
  const device = {
    index: 0,
    uuid: 'GPU-bench',
    name: 'Bench 24',
    total_vram: 24e9,
    available_vram: free,
    unified: false,
  }
  return {
    gpu_vendor: 'nvidia' as const,
    devices: [device],
    total_ram: 64e9,
    available_ram: 32e9 + free,
    total_disk: 1e12,
    available_disk: 5e11,
  }
}

/** A cheap frontend that lost heartbeats would be no good. */
async function checkOnline(url: string, folder: string, nodes: number): Promise<void> {
  const key = readFileSync(join(folder, 'data/admin.key'), 'utf8').trim()
  const response = await fetch(`${url}/api/nodes`, { headers: { authorization: `Bearer ${key}` } })
  const online = ((await response.json()) as { liveness: string }[]).filter(
    ({ liveness }) => liveness === 'online',
  ).length
  if (online !== nodes) throw new Error(`${online} of ${nodes} nodes are online`)
}

function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
  // User and system time in ticks of 10 ms, threads included.
  return (Number(fields[11]) + Number(fields[12])) / 100
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
