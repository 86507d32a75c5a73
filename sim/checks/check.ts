import type { Cluster } from '../cluster.ts'

/** One promise, looked at after every event. Holds what it has to remember of one run. */
export interface Check {
  name: string
  /** What is wrong, if anything is. */
  look: (cluster: Cluster) => string | undefined
}

/** Ends a run: a promise was broken. */
export class Violation extends Error {
  readonly check: string

  constructor(check: string, message: string) {
    super(message)
    this.check = check
  }
}

/** Changes exactly when a row of a node or replica, or a process, has changed. */
export function versionOf({ ground, machines }: Cluster): number {
  let version = ground.store.version
  for (const machine of machines) version += machine.version
  return version
}
