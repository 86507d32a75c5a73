import { approvalByRestart } from './approval-by-restart.ts'
import { drainDoesNotWait } from './drain-does-not-wait.ts'
import { evictionRemovesSiblings } from './eviction-removes-siblings.ts'
import { forgottenRoom } from './forgotten-room.ts'
import { goodbyeOfAnyRun } from './goodbye-of-any-run.ts'
import { inFlightLeaked } from './in-flight-leaked.ts'
import type { PlantedBug } from './planted-bug.ts'
import { reregistrationWipes } from './reregistration-wipes.ts'
import { reservationErased } from './reservation-erased.ts'
import { retriedForEver } from './retried-for-ever.ts'
import { secondRunTakenIn } from './second-run-taken-in.ts'
import { selectorIgnored } from './selector-ignored.ts'
import { stackedSpread } from './stacked-spread.ts'
import { unknownIsRemoved } from './unknown-is-removed.ts'
import { staleCommand } from './stale-command.ts'

/** Mistakes that LocalAI has made, or we have, each of which the simulator must find. */
export const plantedBugs: readonly PlantedBug[] = [
  evictionRemovesSiblings,
  selectorIgnored,
  reservationErased,
  reregistrationWipes,
  drainDoesNotWait,
  inFlightLeaked,
  stackedSpread,
  staleCommand,
  retriedForEver,
  approvalByRestart,
  unknownIsRemoved,
  forgottenRoom,
  secondRunTakenIn,
  goodbyeOfAnyRun,
]
