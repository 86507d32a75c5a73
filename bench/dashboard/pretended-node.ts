import { randomUUID } from 'node:crypto'
import type { NodeRegistration, Registered } from '../../src/api/admin/schemas.ts'
import { SPOKEN } from '../../src/platform/peer-versions.ts'
import type { ReplicaStartMessage, ReplicaStopMessage, ReportedReplicaMessage } from '../../src/api/bus/messages.ts'
import type { Hardware } from '../../src/api/hardware.ts'
import { connectBus, type Bus } from '../../src/bus/bus.ts'
import { newSeed, publicKeyOf, sign } from '../../src/bus/nkey.ts'
import { canonicalJson } from '../../src/core/lib/canonical-json.ts'
import { silentLogger } from '../../src/platform/run/log.ts'
import type { Frontend } from './frontend-process.ts'
import { grow, newReplica, type PretendedReplica } from './pretended-replica.ts'

export interface Machine {
  name: string
  slots: number
  labels: Record<string, string>
  cards: { name: string; bytes: number; count: number }
}

const GIB = 1024 ** 3
const RAM = 256 * GIB
const DISK = 4096 * GIB

/** A worker without a machine: it registers, obeys and heartbeats as any other, but its engines are only told of. */
export class PretendedNode {
  readonly #machine: Machine
  readonly #bootId = randomUUID()
  readonly #seed = newSeed()
  readonly #replicas = new Map<string, PretendedReplica>()
  #bus: Bus | undefined
  #seq = 0
  id = ''

  constructor(machine: Machine) {
    this.#machine = machine
  }

  /** Asks to be let in, and is pending from then on. */
  async register({ url, joinToken }: Frontend): Promise<Registered> {
    const { name, slots, labels } = this.#machine
    const registration: NodeRegistration = {
      protocol: SPOKEN.newest,
      name,
      node_type: 'backend',
      public_key: publicKeyOf(this.#seed),
      address: '127.0.0.1:9',
      version: 'bench',
      boot_id: this.#bootId,
      max_replicas_per_model: slots,
      vram_budget: null,
      labels,
      auto_labels: {},
      signed_at: Date.now(),
    }
    const body = JSON.stringify({ registration, signature: sign(this.#seed, canonicalJson(registration)) })
    const headers = { authorization: `Bearer ${joinToken}` }
    const response = await fetch(`${url}/api/node/register`, { method: 'POST', body, headers })
    if (!response.ok) throw new Error(`${name} was refused: ${await response.text()}`)
    const registered = (await response.json()) as Registered
    this.id = registered.node_id
    return registered
  }

  /** Takes part, once it is approved. */
  async join(frontend: Frontend): Promise<void> {
    const { credentials } = await this.register(frontend)
    if (!credentials) throw new Error(`${this.#machine.name} is not approved`)
    const address = { url: credentials.bus_url, seed: this.#seed }
    const bus = await connectBus({ address, role: 'node', clientId: this.id, log: silentLogger })
    bus.respond('replicaStart', async (message) => this.#start(message), this.id)
    bus.respond('replicaStop', async (message) => this.#stop(message), this.id)
    this.#bus = bus
    this.beat()
  }

  #start(message: ReplicaStartMessage): { known_from_seq: number } {
    if (!this.#replicas.has(message.id)) this.#replicas.set(message.id, newReplica(message))
    return { known_from_seq: this.#seq + 1 }
  }

  #stop({ target }: ReplicaStopMessage) {
    if (target.what !== 'replica') return { replicas: [] }
    const replica = this.#replicas.get(target.id)
    this.#replicas.delete(target.id)
    const { id, generation } = target
    return { replicas: replica ? [{ id, generation, key: replica.key, gone: true }] : [] }
  }

  /** What it does is a little different each time: requests come and go, files arrive. */
  beat(): void {
    if (!this.#bus) return
    this.#seq += 1
    for (const replica of this.#replicas.values()) grow(replica, Date.now())
    const replicas = [...this.#replicas.values()].map(({ report }) => report)
    const engines = [ENGINE]
    const beat = { boot_id: this.#bootId, seq: this.#seq, replicas, engines, ...this.#hardware(replicas) }
    this.#bus.publish('heartbeat', beat, this.id)
  }

  reports(): ReportedReplicaMessage[] {
    return [...this.#replicas.values()].map(({ report }) => report)
  }

  #hardware(replicas: readonly ReportedReplicaMessage[]): Hardware {
    const { cards } = this.#machine
    const usedOn = (index: number): number =>
      replicas
        .flatMap(({ memory }) => memory?.devices ?? [])
        .reduce((sum, device) => sum + (device.index === index ? device.bytes : 0), 0)
    return {
      gpu_vendor: cards.count > 0 ? 'nvidia' : null,
      devices: Array.from({ length: cards.count }, (_, index) => ({
        index,
        uuid: `GPU-${index}`,
        name: cards.name,
        total_vram: cards.bytes,
        // Engines take a little more and less as they work.
        available_vram: Math.max(0, cards.bytes - usedOn(index) - Math.floor(Math.random() * GIB)),
        unified: false,
      })),
      total_ram: RAM,
      available_ram: RAM - replicas.length * 2 * GIB - Math.floor(Math.random() * 4 * GIB),
      total_disk: DISK,
      available_disk: DISK / 2,
    }
  }

  /** Falls silent, as a machine does whose plug was pulled. */
  async leave(): Promise<void> {
    const bus = this.#bus
    this.#bus = undefined
    await bus?.dispose()
  }
}

const ENGINE = {
  name: 'sim',
  source: 'built-in' as const,
  state: 'available' as const,
  reason: null,
  version: null,
  serves: ['/v1/chat/completions', '/v1/completions', '/v1/models'],
  memory: 'on_load' as const,
  uses: { device: 'either' as const },
  operation: null,
}
