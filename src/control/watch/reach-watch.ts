import type { GatewayLoadMessage } from '../../api/bus/messages.ts'
import type { Clock } from '../../platform/run/clock.ts'
import { hostAndPort } from '../../platform/address.ts'
import { startLoop, type Loop } from '../../platform/run/loop.ts'
import type { Condition, Conditions } from './conditions.ts'

/** What registration tells of a node. */
export interface SeenNode {
  id: string
  name: string
  /** Of its data port. */
  address: string
  /** How far its clock is ahead of ours. */
  aheadMs: number
}

export interface ReachWatchDeps {
  conditions: Pick<Conditions, 'look'>
  clock: Clock
  /** Why an address cannot be connected to, if it cannot. */
  whyUnreachable: (address: { host: string; port: number }) => Promise<string | undefined>
}

const LOOK_EVERY_MS = 2000
const TRY_AGAIN_MS = 10_000
/** A report is repeated every second while anything is in it. */
const SILENT_AFTER_MS = 5000
const MOST_GATEWAYS = 1000
const MOST_NODES = 1000
/** Heartbeats and logs are compared by times; a person would not notice less. */
const CLOCK_LIMIT_MS = 5000

type Unreachable = NonNullable<GatewayLoadMessage['unreachable']>

/**
 * Nodes whose data port cannot be reached, and nodes whose clock is off. The port is tried once at each registration and
 * again every 10 s while it cannot be reached; gateways report what they cannot reach with their load.
 */
export class ReachWatch {
  readonly #deps: ReachWatchDeps
  readonly #gateways = new Map<string, { atMs: number; nodes: Unreachable }>()
  /** Not reachable from here. */
  readonly #tried = new Map<string, SeenNode & { why: string; atMs: number }>()
  #standing = new Set<string>()
  readonly #loop: Loop

  constructor(deps: ReachWatchDeps) {
    this.#deps = deps
    const turn = async (): Promise<void> => this.#look()
    this.#loop = startLoop({ periodMs: LOOK_EVERY_MS, turn, clock: deps.clock, onError: () => {} })
  }

  hear({ gateway, unreachable }: Pick<GatewayLoadMessage, 'gateway' | 'unreachable'>): void {
    if (unreachable === undefined) return void this.#gateways.delete(gateway)
    if (this.#gateways.size >= MOST_GATEWAYS && !this.#gateways.has(gateway)) return
    this.#gateways.set(gateway, { atMs: this.#deps.clock.nowMs(), nodes: unreachable })
  }

  /** A node has registered, or has signed another call. */
  seen(node: SeenNode, how: 'registered' | 'signed'): void {
    this.#deps.conditions.look(`clock ${node.id}`, wrongClock(node))
    if (how === 'signed' || node.address === '') return
    this.#tried.delete(node.id)
    void this.#try(node)
  }

  removed(nodeId: string): void {
    this.#tried.delete(nodeId)
    this.#deps.conditions.look(`clock ${nodeId}`, undefined)
  }

  dispose(): Promise<void> {
    return this.#loop.dispose()
  }

  async #try(node: SeenNode): Promise<void> {
    const { clock, whyUnreachable } = this.#deps
    const address = hostAndPort(node.address)
    const why = address ? await whyUnreachable(address) : 'that is no address'
    if (why === undefined) this.#tried.delete(node.id)
    else if (this.#tried.size < MOST_NODES) this.#tried.set(node.id, { ...node, why, atMs: clock.nowMs() })
  }

  #look(): void {
    const { clock, conditions } = this.#deps
    const nowMs = clock.nowMs()
    for (const [gateway, { atMs }] of this.#gateways) {
      if (Math.abs(nowMs - atMs) > SILENT_AFTER_MS) this.#gateways.delete(gateway)
    }
    for (const node of this.#tried.values()) {
      if (Math.abs(nowMs - node.atMs) < TRY_AGAIN_MS) continue
      node.atMs = nowMs
      void this.#try(node)
    }
    const found = new Map<string, Condition>()
    for (const node of this.#tried.values()) found.set(`reach ${node.id}`, fromHere(node))
    const reports = [...this.#gateways.values()].flatMap(({ nodes }) => nodes)
    for (const same of Map.groupBy(reports, ({ node_id: id }) => id).values()) {
      if (found.size < MOST_NODES) found.set(`reach ${same[0]!.node_id}`, fromGateways(same))
    }
    for (const name of this.#standing) if (!found.has(name)) conditions.look(name, undefined)
    for (const [name, condition] of found) conditions.look(name, condition)
    this.#standing = new Set(found.keys())
  }
}

const ADVICE =
  'Open that port for the machines of gateways, or start the worker with --advertise host:port, by which they reach it.'

function fromHere({ id, name, address, why }: SeenNode & { why: string }): Condition {
  const text = `This frontend cannot reach the data port of ${name} at ${address}: ${why}.`
  return { kind: 'gateway', severity: 'warning', text, advice: ADVICE, node: { id, name } }
}

function fromGateways(same: Unreachable): Condition {
  const { node_id: id, node_name: name, address, why } = same[0]!
  const text = `${same.length === 1 ? 'A gateway' : `${same.length} gateways`} cannot reach ${name} at ${address}: ${why}. Requests to it fail or go elsewhere.`
  return { kind: 'gateway', severity: 'error', text, advice: ADVICE, node: { id, name } }
}

function wrongClock({ id, name, aheadMs }: SeenNode): Condition | undefined {
  if (Math.abs(aheadMs) <= CLOCK_LIMIT_MS) return undefined
  const seconds = Math.round(Math.abs(aheadMs) / 1000)
  const text = `The clock of ${name} is ${seconds} s ${aheadMs > 0 ? 'ahead of' : 'behind'} that of this frontend.`
  const advice = 'Set both clocks: timedatectl set-ntp true. A worker that is more than 5 minutes off cannot register.'
  return { kind: 'process', severity: 'warning', text, advice, node: { id, name } }
}
