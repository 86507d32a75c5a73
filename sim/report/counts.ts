/** What happened, counted. Printed as it is. */
export interface Counts {
  heartbeats: number
  turns: number
  starts: number
  outOfMemory: number
  evictions: number
  changes: number
  requests: number
  served: number
  failed: number
  brokenOff: number
  left: number
}

export function noCounts(): Counts {
  return {
    heartbeats: 0,
    turns: 0,
    starts: 0,
    outOfMemory: 0,
    evictions: 0,
    changes: 0,
    requests: 0,
    served: 0,
    failed: 0,
    brokenOff: 0,
    left: 0,
  }
}
