import { dirname } from 'node:path'
import { hasCrashed } from '../../platform/run/crash.ts'
import { killNow } from './engine-signals.ts'
import type { ProcessIdentity } from './process-identity.ts'

/** What is told of engines as they come and go; `folder` is the one that has a folder for each of them. */
export type OnLiving = (what: 'engine' | 'ended', identity: ProcessIdentity, folder: string) => void

/** By identity: the folder of its replica. */
const living = new Map<ProcessIdentity, string>()
const watchers = new Set<OnLiving>()

/**
 * When this process ends in order, the engine ends with it; a sudden end and a crash leave it to the next worker, or the
 * watchdog. Returns how to call that off: it has ended, or it is left to run on.
 */
export function endWithUs(identity: ProcessIdentity, folder: string): (why: 'ended' | 'left') => void {
  living.set(identity, folder)
  for (const watcher of watchers) watcher('engine', identity, dirname(folder))
  return (why) => {
    if (!living.delete(identity) || why === 'left') return
    for (const watcher of watchers) watcher('ended', identity, dirname(folder))
  }
}

/** Tells of every engine from now on, and of those that live already. Returns how to end that. */
export function watchLiving(watcher: OnLiving): () => void {
  watchers.add(watcher)
  for (const [identity, folder] of living) watcher('engine', identity, dirname(folder))
  return () => void watchers.delete(watcher)
}

/** All of them outlive this process: the next worker takes them over, or the watchdog ends them. */
export function leaveEngines(): void {
  areLeft = true
}

let areLeft = false

process.on('exit', () => hasCrashed() || areLeft || killNow([...living.keys()]))
