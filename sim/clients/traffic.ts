import type { Cluster } from '../cluster.ts'
import type { GatewayProcess } from '../roles/gateway-process.ts'
import type { Random } from '../random.ts'
import { ClientRequest, ClientResponse, ClientSocket, type Asked } from './exchange.ts'

export interface Sent {
  asked: Asked
  gateway: GatewayProcess
  sentMs: number
  response: ClientResponse
}

/** How it ended. */
export type End = 'whole' | 'error' | 'broken off' | 'left' | 'gateway died'

/** Clients turn to other models after about this long, and leave the rest alone meanwhile. */
const MEAN_FASHION_MS = 10 * 60_000
const IN_FASHION = 0.4
const IMPATIENT = 0.15
const AT_LINE = 0.05
const BURST = 0.02
const CALLER = { keyId: null, models: null }

/** Clients: a request now and then, for any model in fashion, also one that does not exist any more. */
export class Traffic {
  readonly open = new Set<Sent>()
  onEnded: (sent: Sent, end: End) => void = () => {}
  readonly #cluster: Cluster
  readonly #random: Random
  readonly #modelNames: readonly string[]
  #inFashion: string[] = []
  #isOn = true
  #ids = 0

  constructor(cluster: Cluster, random: Random, modelNames: readonly string[]) {
    this.#cluster = cluster
    this.#random = random
    this.#modelNames = modelNames
  }

  start(): void {
    this.#changeFashion()
    this.#next()
  }

  stop(): void {
    this.#isOn = false
  }

  #changeFashion(): void {
    if (!this.#isOn) return
    const random = this.#random
    this.#inFashion = this.#modelNames.filter(() => random.chance(IN_FASHION))
    this.#cluster.queue.after(random.waitMs(MEAN_FASHION_MS), () => this.#changeFashion())
  }

  #next(): void {
    const random = this.#random
    this.#cluster.queue.after(random.waitMs(this.#cluster.settings.meanRequestMs), () => {
      if (!this.#isOn) return
      const model = random.oneOf(this.#inFashion) ?? random.oneOf(this.#modelNames)!
      for (let count = random.chance(BURST) ? 20 : 1; count > 0; count -= 1) this.#send(model)
      this.#next()
    })
  }

  #send(model: string): void {
    const random = this.#random
    const { queue, counts, gatewaysUp, gatewayNames } = this.#cluster
    const isStream = random.chance(0.5)
    const asked: Asked = {
      id: (this.#ids += 1),
      model,
      isStream,
      tokens: random.between(1, 5),
      session: random.chance(0.3) ? `session-${random.between(1, 20)}` : undefined,
      keepsAtLine: isStream && random.chance(AT_LINE),
    }
    const leavesMs = random.chance(IMPATIENT) ? random.between(10, 30_000) : undefined
    const gateway = gatewaysUp.get(random.oneOf(gatewayNames)!)
    if (!gateway) return
    counts.requests += 1
    const socket = leavesMs === undefined ? gateway.socket : new ClientSocket()
    const request = new ClientRequest(asked, socket)
    const response = new ClientResponse(request, () => this.#end(sent, endOf(response)))
    const sent: Sent = { asked, gateway, sentMs: queue.nowMs, response }
    this.open.add(sent)
    const onDeath = (): void => {
      socket.destroy()
      this.#end(sent, 'gateway died')
    }
    gateway.process.onDeath(onDeath)
    if (leavesMs !== undefined) {
      queue.after(leavesMs, () => {
        if (!this.open.has(sent)) return
        this.#end(sent, 'left')
        gateway.process.run(() => socket.destroy())
      })
    }
    queue.after(1, () => gateway.process.run(() => gateway.gateway.handler(request, response, CALLER)))
  }

  #end(sent: Sent, end: End): void {
    if (!this.open.delete(sent)) return
    const { counts } = this.#cluster
    if (end === 'whole') counts.served += 1
    else if (end === 'error') counts.failed += 1
    else if (end === 'left') counts.left += 1
    else counts.brokenOff += 1
    this.onEnded(sent, end)
  }
}

function endOf(response: ClientResponse): End {
  if (response.isCut) return 'broken off'
  if (response.statusCode >= 400) return 'error'
  return /\ndata: \{"error"|^data: \{"error"|\ndata: \{"type":"error"/.test(response.text) ? 'broken off' : 'whole'
}
