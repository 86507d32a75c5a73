import { allowInference } from '../../gateway/access/guard.ts'
import type { Gateway } from '../../gateway/start-gateway.ts'
import type { ExchangeHandler } from '../../http/exchange.ts'
import type { Shortcut } from '../../http/fast/path/fast-path.ts'
import type { Handler, HttpServerOptions, UpgradeHandler } from '../../http/server.ts'
import type { Clock } from '../../platform/run/clock.ts'
import { frontDoor, INFERENCE_PREFIX, inferenceDoor, refuseEarly, type InferenceRoom } from './router.ts'
import { earlyRoom, type EarlyRoom } from './startup-queue.ts'

/** What a listener serves: its port is open before there is anything to serve, and requests for inference wait. */
export class Front {
  readonly early: EarlyRoom
  #handler: Handler
  #infer: ExchangeHandler
  #shortcut: Shortcut | undefined
  #onUpgrade: UpgradeHandler = refuseEarly

  constructor(clock: Clock) {
    this.early = earlyRoom(clock)
    this.#handler = frontDoor({ early: this.early, checks: { start: () => 'starting' } })
    this.#infer = this.early.handler
  }

  /** For the listener; what is served may change under it. */
  handlers(): Pick<HttpServerOptions, 'handler' | 'wire' | 'onUpgrade'> {
    return {
      handler: (request, response) => this.#handler(request, response),
      wire: {
        prefix: INFERENCE_PREFIX,
        handler: (request, response) => this.#infer(request, response),
        shortcut: () => this.#shortcut,
      },
      onUpgrade: (request, socket, head) => this.#onUpgrade(request, socket, head),
    }
  }

  /** From now on everything is served; inference, once the gateway has a routing table. */
  serve(handler: Handler, gateway: Gateway, inference: InferenceRoom): void {
    const { guard } = inference
    this.#handler = handler
    gateway.onTable(() => {
      this.early.open((this.#infer = inferenceDoor(inference)))
      this.#shortcut = gateway.handler.shortcut(guard)
    })
    this.#onUpgrade = gateway.handler.upgrades((request) => allowInference(request, guard))
  }
}
