import { hasCrashed } from '../../platform/crash.ts'
import { killNow } from './engine-signals.ts'
import type { ProcessIdentity } from './process-identity.ts'

const living = new Set<ProcessIdentity>()

/**
 * When this process ends in order, the engine ends with it; a sudden end and a crash leave it to the next worker, or the
 * watchdog. Returns how to call that off.
 */
export function endWithUs(identity: ProcessIdentity): () => void {
  living.add(identity)
  return () => living.delete(identity)
}

/** All of them outlive this process: the next worker takes them over, or the watchdog ends them. */
export function leaveEngines(): void {
  areLeft = true
}

let areLeft = false

process.on('exit', () => hasCrashed() || areLeft || killNow([...living]))
