import type { Config } from '../../cli/config/options.ts'
import type { ReadLimits } from '../../gateway/access/body-room.ts'
import type { WaitingRoomLimits } from '../../gateway/deliver/waiting-room.ts'
import { BodyBudget, defaultBodyMemory } from '../../http/server/body-budget.ts'
import type { HttpLimits } from '../../http/server/limits.ts'

export interface GatewayLimits {
  http: Partial<HttpLimits>
  read: Partial<ReadLimits> & { bodies: BodyBudget }
  waitingRoom: Partial<WaitingRoomLimits>
  modelLoadWaitMs: number
  answerWaitMs: number
}

/** The limits of a gateway, from the options. */
export function gatewayLimits(config: Config): GatewayLimits {
  return {
    http: { connections: config.max_connections },
    read: {
      mostBodyBytes: config.max_body,
      bodies: new BodyBudget(config.body_memory ?? defaultBodyMemory(config.processes)),
    },
    waitingRoom: {
      running: config.max_running,
      runningPerModel: config.max_running_per_model ?? Number.POSITIVE_INFINITY,
      waitingPerModel: config.max_waiting_per_model,
      waitMs: config.max_wait_s * 1000,
    },
    answerWaitMs: config.answer_wait === 0 ? Number.POSITIVE_INFINITY : config.answer_wait * 1000,
    modelLoadWaitMs: config.model_load_wait === 0 ? Number.POSITIVE_INFINITY : config.model_load_wait * 1000,
  }
}
