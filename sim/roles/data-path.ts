import { replicaPath } from '../../src/api/data-port.ts'
import type { Network } from '../../src/gateway/request/inference.ts'
import type { Probe } from '../../src/gateway/health/probe.ts'
import { AppError } from '../../src/platform/errors.ts'
import type { HttpRequest, HttpResponse } from '../../src/http/exchange.ts'
import type { Forward, Forwarded, Forwarder, Upstream } from '../../src/http/proxy.ts'
import { clientOf } from '../../src/http/upstream/client-watch.ts'
import { findTarget } from '../../src/worker/data-port/target.ts'
import type { ClientRequest } from '../clients/exchange.ts'
import type { Cluster } from '../cluster.ts'
import type { SimProcess } from '../ground/sim-process.ts'
import type { Machine } from '../machine/machine.ts'
import type { SimEngine } from '../machine/engine.ts'

const CONNECT_WITHIN_MS = 5000
const PROBE_WITHIN_MS = 2000
/** After so long a peer that does not answer at all counts as gone. */
const MOST_SILENCE_MS = 30_000

/** The way of requests to workers and their engines, in the place of sockets; everything that decides is the real thing. */
export class DataPath {
  readonly #cluster: Cluster

  constructor(cluster: Cluster) {
    this.#cluster = cluster
  }

  forwardOf(gateway: SimProcess): Forward {
    return (request, response, upstream, forwarder) => {
      if (request.socket.destroyed) {
        forwarder.onForwarded({ outcome: 'client gone' })
        return undefined
      }
      const passage = new Passage(this.#cluster, gateway, request, response, upstream, forwarder)
      passage.start()
      return passage
    }
  }

  /** Why a node does not answer a gateway, if it does not. Its engines have no part in that. */
  askNodeOf(gateway: SimProcess): Network['askNode'] {
    return ({ address }) =>
      new Promise((resolve) => {
        const { queue, network } = this.#cluster
        const machine = this.#cluster.machineAt(address)
        const isThere = machine?.isUp && !network.isApart(gateway.name, machine.name)
        const isSilent = !isThere || machine.worker?.process.isFrozen
        const why = isSilent ? 'no answer' : machine.worker ? undefined : 'no connection'
        queue.after(isSilent ? PROBE_WITHIN_MS : 2, () => gateway.run(() => resolve(why)))
      })
  }

  probeOf(gateway: SimProcess): Probe {
    return (route) =>
      new Promise((resolve) => {
        const dead = (why: string) => (): void => resolve({ state: 'dead', why })
        this.#ask(gateway, route.address, route.replicaId, route.generation, {
          onUnreachable: dead('no connection'),
          onSilent: () => resolve({ state: 'silent', why: 'no answer' }),
          onRefused: (status) => resolve({ state: 'dead', why: `refused with status ${status}`, status }),
          onAlive: () => resolve({ state: 'alive' }),
        })
      })
  }

  /** Control's own question, before it gives a silent node up. */
  probeReplica(
    from: SimProcess,
    { address, id, generation }: { address: string; id: string; generation: number },
  ): Promise<boolean> {
    return new Promise((resolve) => {
      const no = (): void => resolve(false)
      const onAlive = (): void => resolve(true)
      this.#ask(from, address, id, generation, { onUnreachable: no, onSilent: no, onRefused: no, onAlive })
    })
  }

  /** Which run of a worker answers at an address; undefined when none does. */
  probeRun(from: SimProcess, address: string): Promise<string | undefined> {
    const { queue, network } = this.#cluster
    const machine = this.#cluster.machineAt(address)
    const isThere = machine?.isUp && !network.isApart(from.name, machine.name)
    const worker = isThere ? machine.worker : undefined
    const delayMs = !isThere || worker?.process.isFrozen ? PROBE_WITHIN_MS : 2
    return new Promise((resolve) => {
      queue.after(delayMs, () => from.run(() => resolve(worker?.process.isFrozen ? undefined : worker?.runId)))
    })
  }

  #ask(
    from: SimProcess,
    address: string,
    id: string,
    generation: number,
    on: { onUnreachable: () => void; onSilent: () => void; onRefused: (status: number) => void; onAlive: () => void },
  ): void {
    const { queue, network } = this.#cluster
    const machine = this.#cluster.machineAt(address)
    const later = (delayMs: number, end: () => void): void => void queue.after(delayMs, () => from.run(end))
    if (!machine || !machine.isUp || network.isApart(from.name, machine.name)) {
      return later(PROBE_WITHIN_MS, on.onUnreachable)
    }
    const { worker } = machine
    if (!worker?.supervisor) return later(2, on.onUnreachable)
    if (worker.process.isFrozen) return later(PROBE_WITHIN_MS, on.onSilent)
    const found = targetOf(machine, id, generation)
    if ('status' in found) return later(2, () => on.onRefused(found.status))
    later(found.engine.isFrozen ? PROBE_WITHIN_MS : 2, found.engine.isFrozen ? on.onSilent : on.onAlive)
  }
}

/** The engine that a request gets to, by the worker's own rules; or the status with which it refuses. */
function targetOf(
  machine: Machine,
  id: string,
  generation: number,
): { engine: SimEngine; begin: () => () => void } | { status: number } {
  try {
    const request = { url: `${replicaPath(id, generation)}/v1`, headers: {} } as HttpRequest
    const { replica } = findTarget(request, { find: (one) => machine.worker!.supervisor!.find(one) })
    const engine = [...machine.engines.values()].find(({ port }) => port === replica.port)
    if (!engine) return { status: 502 }
    return { engine, begin: () => replica.beginRequest() }
  } catch (error) {
    if (error instanceof AppError) return { status: error.status }
    throw error
  }
}

/** One request on its way to an engine and back. */
class Passage {
  readonly #cluster: Cluster
  readonly #gateway: SimProcess
  readonly #request: HttpRequest
  readonly #response: HttpResponse
  readonly #upstream: Upstream
  readonly #forwarder: Forwarder
  readonly #pickedMs: number
  #machine: Machine | undefined
  #worker: SimProcess | undefined
  #engine: SimEngine | undefined
  #release: () => void = () => {}
  /** The worker has passed something of an answer on, which is on its way to the gateway or has got there. */
  #hasPassedOn = false
  /** It has got there. */
  #hasHead = false
  #isOver = false

  constructor(
    cluster: Cluster,
    gateway: SimProcess,
    request: HttpRequest,
    response: HttpResponse,
    upstream: Upstream,
    forwarder: Forwarder,
  ) {
    this.#cluster = cluster
    this.#pickedMs = cluster.queue.nowMs
    this.#gateway = gateway
    this.#request = request
    this.#response = response
    this.#upstream = upstream
    this.#forwarder = forwarder
  }

  start(): void {
    const { queue, network } = this.#cluster
    const { host, port } = this.#upstream
    clientOf(this.#request.socket).watch(this)
    this.#machine = this.#cluster.machineAt(`${host}:${port}`)
    const machine = this.#machine
    if (!machine?.isUp || network.isApart(this.#gateway.name, machine.name)) {
      return this.#atGateway(CONNECT_WITHIN_MS, () => this.#unreachable('connect'))
    }
    queue.after(1, () => this.#arrive(machine))
  }

  giveUp(error: Error): void {
    this.#cut(error.message)
  }

  onClientGone(): void {
    this.#over({ outcome: 'client gone' })
  }

  #arrive(machine: Machine): void {
    const { worker } = machine
    if (!worker?.supervisor || worker.process.isDead) return this.#atGateway(1, () => this.#unreachable('connect'))
    this.#worker = worker.process
    worker.process.onDeath(this.#onWorkerDeath)
    this.#gateway.onDeath(this.#onGatewayDeath)
    worker.process.run(() => {
      if (this.#isOver) return
      const { path } = this.#upstream
      const [, , id, generation] = path.split('/')
      const found = targetOf(machine, id!, Number(generation))
      if ('status' in found) {
        const { status } = found
        return this.#toGateway(() => this.#over({ outcome: 'refused', status }))
      }
      this.#serve(found.engine, found.begin())
    })
  }

  #serve(engine: SimEngine, release: () => void): void {
    this.#engine = engine
    this.#release = release
    engine.calls.add(this)
    this.#cluster.busyEngines.set(engine, this.#machine!)
    const { model, id } = (this.#request as ClientRequest).asked
    this.#cluster.watchers.onServed(engine, { model, id, gateway: this.#gateway.name, pickedMs: this.#pickedMs })
    const { queue, random } = this.#cluster
    const { tokens, isStream } = bodyOf(this.#request)
    const stepMs = random.between(20, 1500)
    const answer = textsOf(this.#request, tokens, isStream)
    const next = (at: number): void => {
      queue.after(stepMs, () =>
        engine.whenAwake(() => {
          if (this.#isOver || engine.state === 'gone') return
          const isLast = at === answer.length - 1
          if (isLast) this.#endAtWorker()
          this.#hasPassedOn = true
          this.#toGateway(() => this.#give(answer[at]!, isStream, isLast))
          if (!isLast) next(at + 1)
        }),
      )
    }
    next(0)
  }

  /** The engine's process has ended. */
  onBroken(): void {
    const worker = this.#worker
    worker?.run(() => {
      this.#endAtWorker()
      // The worker says so in the engine's stead, as long as it has passed nothing of an answer on.
      if (this.#hasPassedOn) this.#toGateway(() => this.#cut('the engine ended'))
      else this.#toGateway(() => this.#over({ outcome: 'refused', status: 502 }))
    })
  }

  readonly #onWorkerDeath = (): void => {
    if (this.#isOver) return
    this.#engine?.calls.delete(this)
    this.#toGateway(() => this.#cut('the connection broke'))
  }

  readonly #onGatewayDeath = (): void => {
    if (this.#isOver) return
    this.#isOver = true
    this.#cluster.queue.after(1, () => this.#worker?.run(() => this.#endAtWorker()))
  }

  #give(text: string, isStream: boolean, isLast: boolean): void {
    if (this.#isOver) return
    const response = this.#response
    if (!this.#hasHead) {
      this.#hasHead = true
      if (!response.headersSent) {
        response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' })
      }
    }
    this.#upstream.onHeard?.()
    response.write(text)
    if (!isLast) return
    response.end()
    this.#over({ outcome: 'answered', status: 200 })
  }

  /** The connection has ended, as the gateway sees it. */
  #cut(why: string): void {
    if (this.#hasHead) this.#break(why)
    else this.#unreachable('read')
  }

  #break(why: string): void {
    if (this.#isOver) return
    const { isStream } = bodyOf(this.#request)
    const upstream = this.#upstream
    this.#over({ outcome: 'broken', error: new Error(why) })
    if (isStream && upstream.lastWords) this.#response.end(upstream.lastWords())
    else this.#response.destroy()
  }

  #unreachable(syscall: string): void {
    const error = Object.assign(new Error(syscall === 'connect' ? 'no connection' : 'ECONNRESET'), { syscall })
    this.#over({ outcome: 'unreachable', error })
  }

  #over(result: Forwarded): void {
    if (this.#isOver) return
    this.#isOver = true
    clientOf(this.#request.socket).unwatch(this)
    const isDone = result.outcome === 'answered'
    if (!isDone) this.#cluster.queue.after(1, () => this.#worker?.run(() => this.#endAtWorker()))
    this.#worker?.offDeath(this.#onWorkerDeath)
    this.#gateway.offDeath(this.#onGatewayDeath)
    this.#forwarder.onForwarded(result)
  }

  #endAtWorker(): void {
    this.#engine?.calls.delete(this)
    this.#release()
  }

  /** From the worker to the gateway. Where the line is cut, nothing comes, until somebody gives up. */
  #toGateway(deliver: () => void): void {
    const { network, random } = this.#cluster
    if (network.isCut(this.#machine!.name, this.#gateway.name)) {
      return this.#atGateway(random.between(1000, MOST_SILENCE_MS), () => this.#cut('no more of it came'))
    }
    this.#atGateway(1, deliver)
  }

  #atGateway(delayMs: number, deliver: () => void): void {
    this.#cluster.queue.after(delayMs, () => this.#gateway.run(() => !this.#isOver && deliver()))
  }
}

interface Body {
  id: number
  tokens: number
  isStream: boolean
}

function bodyOf(request: HttpRequest): Body {
  return (request as unknown as { asked: Body }).asked
}

/** The pieces of an answer, of which each names its request and its place: what is missing or mixed up is seen. */
export function textsOf(request: HttpRequest, tokens: number, isStream: boolean): string[] {
  const { id } = bodyOf(request)
  if (!isStream) return [`{"id":${id},"tokens":${tokens}}`]
  return [...Array.from({ length: tokens }, (_, at) => `data: ${id}.${at}\n\n`), 'data: [DONE]\n\n']
}
