import type { Hooks } from '../hooks.ts'
import { plantedBugs } from './planted.ts'

/** The hooks of a planted bug, by its name. */
export function hooksOf(name: string): Hooks {
  const bug = plantedBugs.find((one) => one.name === name)
  if (!bug) throw new Error(`there is no planted bug "${name}"`)
  return bug.hooks()
}
