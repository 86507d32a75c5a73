import type { PlantedBug } from './planted-bug.ts'

/**
 * LocalAI's reconciler starts replicas from what a first request has left in the database. Where nothing was left it tries
 * all the same and fails, again at every pass and for ever: only a want of slots has a wait between tries that grows.
 */
export const retriedForEver: PlantedBug = {
  name: 'retried-for-ever',
  what: 'a start that cannot succeed is tried again at once, without end',
  caughtBy: 'retries',
  withinSeeds: 5,
  scene: { nodes: 2, models: 3, hours: 0.2, faults: ['crash-engine', 'break-model'] },
  hooks: () => ({
    // Of a move to `failed`: the count of failures and the wait, which grows with it.
    statement(statement) {
      const { text, params } = statement
      if (!/^\s*update replicas set state = \$4/.test(text) || params[3] !== 'failed') return statement
      return { text, params: params.with(5, 0).with(7, 0) }
    },
  }),
}
