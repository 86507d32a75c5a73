import { dirname } from 'node:path'
import { hasCrashed } from '../../platform/run/crash.ts'
import { killNow } from './engine-signals.ts'
import type { ProcessIdentity } from './process-identity.ts'

/** Called when an engine starts or ends; `folder` is the parent of all replica folders. */
export type OnLiving = (what: 'engine' | 'ended', identity: ProcessIdentity, folder: string) => void

/** The folder of the replica, by the engine's identity. */
const living = new Map<ProcessIdentity, string>()
const watchers = new Set<OnLiving>()

/**
 * When this process ends in order, it ends the engine as well; after a kill or a crash the engine is left to the next
 * worker, or the watchdog. The returned function cancels this: the engine has ended, or is left running.
 */
export function endWithUs(identity: ProcessIdentity, folder: string): (why: 'ended' | 'left') => void {
  living.set(identity, folder)
  for (const watcher of watchers) watcher('engine', identity, dirname(folder))
  return (why) => {
    if (!living.delete(identity) || why === 'left') return
    for (const watcher of watchers) watcher('ended', identity, dirname(folder))
  }
}

/** Reports every engine from now on, and those that are alive already. The returned function stops that. */
export function watchLiving(watcher: OnLiving): () => void {
  watchers.add(watcher)
  for (const [identity, folder] of living) watcher('engine', identity, dirname(folder))
  return () => void watchers.delete(watcher)
}

/** All engines outlive this process: the next worker adopts them, or the watchdog ends them. */
export function leaveEngines(): void {
  areLeft = true
}

let areLeft = false

process.on('exit', () => hasCrashed() || areLeft || killNow([...living.keys()]))
