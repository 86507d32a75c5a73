import { HEARTBEAT_S, TURN_S } from './leader.ts'

/** Every fourth delta has it: turns come every 3 s, and it is told once 10 s have passed. */
const HEARD_EVERY_S = 12
/** Control is heard by as many as may lead. */
export const FRONTENDS = 3

export interface Sizes {
  nodes: number
  gateways: number
  heartbeatBytes: number
  deltaBytes: number
  heardBytes: number
  reportsPerS: number
  reportBytes: number
}

export interface Traffic {
  messagesPerS: number
  bytesPerS: number
}

/** What the broker has to hand out in a second, by kind, counted for each who gets it. */
export function trafficOf(sizes: Sizes): Record<'heartbeats' | 'deltas' | 'loads', Traffic> {
  const { nodes, gateways } = sizes
  const heartbeats = (nodes / HEARTBEAT_S) * FRONTENDS
  const deltas = gateways / TURN_S
  const loads = sizes.reportsPerS * (gateways - 1 + FRONTENDS)
  return {
    heartbeats: { messagesPerS: heartbeats, bytesPerS: heartbeats * sizes.heartbeatBytes },
    deltas: {
      messagesPerS: deltas,
      bytesPerS: deltas * sizes.deltaBytes + (gateways / HEARD_EVERY_S) * sizes.heardBytes,
    },
    loads: { messagesPerS: loads, bytesPerS: loads * sizes.reportBytes },
  }
}
