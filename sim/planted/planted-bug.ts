import type { Hooks } from '../hooks.ts'
import type { Scenario } from '../simulate.ts'

/**
 * A mistake that another program has made, built into this one for a run: by wrapping what the simulator hands to the
 * real parts, never by a switch in the program itself.
 */
export interface PlantedBug {
  name: string
  /** One line for people. */
  what: string
  /** The check that must find it, by the beginning of its name. */
  caughtBy: string
  /** Within so many seeds, wherever one begins. Measured, with some room. */
  withinSeeds: number
  /** The smallest cluster, the shortest time and the fewest kinds of faults in which it shows. */
  scene: Pick<Scenario, 'nodes' | 'models' | 'hours' | 'faults'>
  /** New ones for each run. */
  hooks: () => Hooks
}
