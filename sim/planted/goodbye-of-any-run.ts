import type { PlantedBug } from './planted-bug.ts'

/**
 * A goodbye that counts for the node, not for the run that says it: a copy of a machine which has lost its place and ends
 * takes the first one offline, and its replicas with it.
 */
export const goodbyeOfAnyRun: PlantedBug = {
  name: 'goodbye-of-any-run',
  what: 'a goodbye counts for every run of a node',
  caughtBy: 'one run',
  withinSeeds: 5,
  scene: { nodes: 2, models: 2, hours: 0.3, faults: ['copy-machine'] },
  hooks: () => ({
    statement: ({ text, params }) => ({ text: text.replace(OF_THIS_RUN, OF_ANY_RUN), params }),
  }),
}

const OF_THIS_RUN = 'boot_id = coalesce($3, boot_id) and (run_id is null or run_id = $4)'
/** Names the same parameters. */
const OF_ANY_RUN = 'coalesce($3, $4, $1) is not null'
