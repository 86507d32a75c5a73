import {
  permissionsFor,
  subjectOf,
  subjects,
  type EventName,
  type MessageOf,
  type ReplyOf,
  type RequestName,
  type SubjectName,
} from '../../src/api/bus/subjects.ts'
import { CompiledPermissions } from '../../src/bus/broker/permissions.ts'
import { NobodyListensError, type Bus, type RequestOptions, type Responder } from '../../src/bus/bus.ts'
import { AppError, toAppError } from '../../src/platform/errors.ts'
import type { EventQueue } from '../event-queue.ts'
import { deepFreeze } from './deep-freeze.ts'
import type { Random } from '../random.ts'
import type { Network } from './network.ts'
import type { SimProcess } from './sim-process.ts'

interface Listener {
  bus: SimBus
  onMessage: (message: unknown, nodeId: string) => void
  onRequest: ((message: unknown) => Promise<unknown>) | undefined
}

type Read = { success: true; data: unknown } | { success: false; data?: undefined; error: { message: string } }

const ALL_READ = 100
const THEN_EVERY = 20
/** What a client that lost its connection keeps to send later, if it keeps it. */
const MOST_KEPT = 100
const KEPT = 0.5
const MOST_RECONNECT_MS = 2000

/**
 * The broker, and all connections to it, with the rights that each has in production. A message is handed over as its schema
 * reads it, and frozen: no process changes what another holds.
 */
export class BusExchange {
  readonly queue: EventQueue
  readonly network: Network
  /** Nodes that are let in. */
  readonly allowed = new Set<string>()
  readonly connections = new Set<SimBus>()
  /** The broker itself is away. */
  isDown = false
  readonly #onAllowed: (nodeId: string) => void
  readonly #listeners = new Map<string, Listener[]>()
  readonly #counts = new Map<SubjectName, number>()

  constructor(queue: EventQueue, network: Network, onAllowed: (nodeId: string) => void) {
    this.queue = queue
    this.network = network
    this.#onAllowed = onAllowed
  }

  connect(process: SimProcess, clientId: string): SimBus {
    const bus = new SimBus(this, process, clientId)
    this.connections.add(bus)
    process.onDeath(() => this.leave(bus))
    return bus
  }

  /** A node that wants to connect. */
  admit(process: SimProcess, nodeId: string): SimBus {
    if (this.isDown || this.network.isApart(process.name, 'bus')) {
      throw new AppError('unavailable', 'The bus cannot be reached.')
    }
    if (!this.allowed.has(nodeId)) throw new AppError('unauthorized', 'The bus does not let this node in.')
    return this.connect(process, nodeId)
  }

  allow(nodeId: string): void {
    this.#onAllowed(nodeId)
    this.allowed.add(nodeId)
  }

  /** Its connections end, and it is not let in again. */
  remove(nodeId: string): void {
    this.allowed.delete(nodeId)
    for (const bus of this.connections) if (bus.clientId === nodeId) bus.refuse()
  }

  /** The connections of one process break, and it knows. */
  lose(name: string): void {
    for (const bus of this.connections) if (bus.process.name === name) bus.lose()
  }

  comeBackSoon(name: string, random: Random): void {
    for (const bus of this.connections) {
      if (bus.process.name === name) this.queue.after(random.between(10, MOST_RECONNECT_MS), () => bus.comeBack())
    }
  }

  /** They break and are made again at once. */
  breakOff(name: string): void {
    this.lose(name)
    this.comeBackSoon(name, this.network.random)
  }

  goDown(): void {
    this.isDown = true
    for (const bus of this.connections) bus.lose()
  }

  comeUp(random: Random): void {
    this.isDown = false
    for (const bus of this.connections) {
      this.queue.after(random.between(10, MOST_RECONNECT_MS), () => bus.comeBack())
    }
  }

  leave(bus: SimBus): void {
    this.connections.delete(bus)
    for (const [key, list] of this.#listeners) {
      if (list.some((one) => one.bus === bus))
        this.#listeners.set(
          key,
          list.filter((one) => one.bus !== bus),
        )
    }
  }

  listen(key: string, listener: Listener): void {
    const list = this.#listeners.get(key)
    if (list) list.push(listener)
    else this.#listeners.set(key, [listener])
  }

  publish(from: SimBus, name: SubjectName, said: unknown, nodeId = ''): void {
    const read = this.#read(name, said)
    if (!read.success || !from.mayPublish(name, nodeId)) return
    const message = read.data
    deepFreeze(message)
    this.#toAll(this.#listeners.get(name), from, message, nodeId)
    if (nodeId !== '') this.#toAll(this.#listeners.get(`${name} ${nodeId}`), from, message, nodeId)
  }

  request(from: SimBus, name: RequestName, said: unknown, { timeoutMs, nodeId }: RequestOptions): Promise<unknown> {
    const read = this.#read(name, said)
    deepFreeze(read.data)
    const { process } = from
    return new Promise((resolve, reject) => {
      let isOpen = true
      const settle = (end: () => void): void => {
        if (!isOpen) return
        isOpen = false
        cancel()
        end()
      }
      const fail = (error: Error): void => settle(() => reject(error))
      const cancel = process.clock.after(timeoutMs, () =>
        fail(new AppError('unavailable', `No answer on the bus to ${name}: timeout.`)),
      )
      if (!from.isConnected() || this.network.isCut(process.name, 'bus')) return
      if (!from.mayPublish(name, nodeId)) return
      const key = nodeId === undefined ? name : `${name} ${nodeId}`
      const there = this.#listeners.get(key)?.filter(({ bus }) => bus.isConnected()) ?? []
      if (there.length === 0) {
        this.network.carry('bus', process.name, () => process.run(() => fail(new NobodyListensError(key))))
        return
      }
      for (const { bus, onRequest } of there) {
        const answer = (end: () => void): void => {
          if (bus.isConnected()) this.#carry(bus, from, () => settle(end))
        }
        this.#carry(from, bus, () => {
          if (!read.success) return answer(() => reject(new AppError('bad_request', read.error.message)))
          onRequest!(read.data).then(
            (value) => {
              if (value === undefined) return
              deepFreeze(value)
              answer(() => resolve(value))
            },
            (thrown: unknown) => {
              const { code, message: text } = toAppError(thrown)
              answer(() => reject(new AppError(code, text)))
            },
          )
        })
      }
    })
  }

  /** By its schema: of each kind the first ones, and then some, because it takes a quarter of a run to read them all. */
  #read(name: SubjectName, said: unknown): Read {
    const count = (this.#counts.get(name) ?? 0) + 1
    this.#counts.set(name, count)
    if (count > ALL_READ && count % THEN_EVERY !== 0) return { success: true, data: said }
    return subjects[name].message.safeParse(said)
  }

  #toAll(listeners: readonly Listener[] | undefined, from: SimBus, message: unknown, nodeId: string): void {
    if (!listeners || listeners.length === 0) return
    if (!this.network.isCalm) {
      for (const { bus, onMessage } of listeners) this.#carry(from, bus, () => onMessage(message, nodeId))
      return
    }
    // All at once: half of all events are these.
    this.queue.after(1, () => {
      for (const { bus, onMessage } of listeners) {
        if (bus.isConnected()) bus.process.run(() => bus.isConnected() && onMessage(message, nodeId))
      }
    })
  }

  /** By way of the broker: either half of the line may be cut, or the two may be apart from each other. */
  #carry(from: SimBus, to: SimBus, deliver: () => void): void {
    const { network } = this
    const [a, b] = [from.process.name, to.process.name]
    if (network.isCut(a, 'bus') || network.isCut('bus', b)) return
    network.carry(a, b, () => {
      if (to.isConnected()) to.process.run(() => to.isConnected() && deliver())
    })
  }
}

export class SimBus implements Bus {
  readonly process: SimProcess
  readonly clientId: string
  readonly #exchange: BusExchange
  readonly #reconnected: (() => void)[] = []
  readonly #permissions: CompiledPermissions
  readonly #mayPublish = new Map<string, boolean>()
  #isUp = true
  #isRefused = false
  #isClosed = false
  #kept: (() => void)[] = []

  constructor(exchange: BusExchange, process: SimProcess, clientId: string) {
    this.#exchange = exchange
    this.process = process
    this.clientId = clientId
    this.#permissions = new CompiledPermissions(permissionsFor(process.role, clientId))
  }

  mayPublish(name: SubjectName, nodeId: string | undefined): boolean {
    const key = `${name} ${nodeId}`
    let may = this.#mayPublish.get(key)
    if (may === undefined) {
      may = this.#permissions.mayPublish(subjectOf(name, nodeId || undefined))
      this.#mayPublish.set(key, may)
    }
    return may
  }

  #listen(name: SubjectName, nodeId: string | undefined, listener: Omit<Listener, 'bus'>): void {
    if (!this.#permissions.maySubscribe(subjectOf(name, nodeId))) return
    this.#exchange.listen(nodeId === undefined ? name : `${name} ${nodeId}`, { bus: this, ...listener })
  }

  publish<N extends EventName>(name: N, message: MessageOf<N>, nodeId?: string): void {
    if (this.#isClosed) return
    const send = (): void => this.#exchange.publish(this, name, message, nodeId)
    if (this.#isUp) return send()
    // Sent when it is old, as the client of NATS does; or lost with the process's buffers.
    if (this.#kept.length < MOST_KEPT && this.#exchange.network.random.chance(KEPT)) this.#kept.push(send)
  }

  subscribe<N extends EventName>(name: N, handler: (message: MessageOf<N>, nodeId: string) => void, nodeId?: string) {
    this.#listen(name, nodeId, { onMessage: handler as Listener['onMessage'], onRequest: undefined })
  }

  request<N extends RequestName>(name: N, message: MessageOf<N>, options: RequestOptions): Promise<ReplyOf<N>> {
    return this.#exchange.request(this, name, message, options) as Promise<ReplyOf<N>>
  }

  respond<N extends RequestName>(name: N, handler: Responder<N>, nodeId?: string): void {
    this.#listen(name, nodeId, { onMessage: () => {}, onRequest: handler as Listener['onRequest'] })
  }

  onReconnect(callback: () => void): void {
    this.#reconnected.push(callback)
  }

  isConnected(): boolean {
    return this.#isUp && !this.#isClosed
  }

  isRefused(): boolean {
    return this.#isRefused || this.#isClosed
  }

  async dispose(): Promise<void> {
    this.#isClosed = true
    this.#exchange.leave(this)
  }

  /** The connection breaks, and the client knows. */
  lose(): void {
    this.#isUp = false
  }

  /** Not let in any more. */
  refuse(): void {
    this.#isUp = false
    this.#isRefused = true
  }

  comeBack(): void {
    this.process.run(() => {
      const { isDown, network, queue } = this.#exchange
      if (this.#isUp || this.#isClosed || this.#isRefused) return
      // Tried again and again, as clients do.
      if (isDown || network.isApart(this.process.name, 'bus')) {
        queue.after(MOST_RECONNECT_MS, () => this.comeBack())
        return
      }
      this.#isUp = true
      const kept = this.#kept
      this.#kept = []
      for (const send of kept) send()
      for (const callback of this.#reconnected) callback()
    })
  }
}
