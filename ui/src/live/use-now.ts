import { useSyncExternalStore } from 'react'
import { liveConnection } from './connection.ts'

const PERIOD_MS = 1000
const listeners = new Set<() => void>()
let nowMs = Date.now()
let timer: ReturnType<typeof setInterval> | undefined

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  timer ??= setInterval(() => {
    nowMs = Date.now()
    for (const one of listeners) one()
  }, PERIOD_MS)
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}

/** The frontend's time, to the second: one clock for all that tells how long ago something was. */
export function useNow(): number {
  const own = useSyncExternalStore(subscribe, () => nowMs)
  return own + liveConnection.current().world.clockAheadMs
}
