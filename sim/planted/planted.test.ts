import { describe, expect, test } from 'vitest'
import { simulate } from '../simulate.ts'
import { hunt } from './hunt.ts'
import { plantedBugs } from './planted.ts'

/** Far from where the numbers were measured. */
const FIRST_SEED = 500_001
/** Two runs must not overlap in one process, so none may be given up halfway on a slow machine. */
const TIMEOUT_MS = 240_000

describe.each(plantedBugs)('$name', (bug) => {
  const { withinSeeds, scene } = bug
  test(
    'is caught by its check within its seeds, and the same run is fine without it',
    { timeout: TIMEOUT_MS },
    async () => {
      const { isCaught, seeds, others } = await hunt(bug, { first: FIRST_SEED, most: withinSeeds }, simulate)
      expect({ isCaught, others }).toMatchObject({ isCaught: true })
      const { violation } = await simulate({ ...scene, seed: FIRST_SEED + seeds - 1 })
      expect(violation).toBeUndefined()
    },
  )
})

test('a name that there is not is refused', async () => {
  await expect(simulate({ seed: 1, nodes: 1, models: 1, hours: 0.01, bug: 'no-such-bug' })).rejects.toThrow(
    'there is no planted bug "no-such-bug"',
  )
})
