import type { PlantedBug } from './planted-bug.ts'

/**
 * LocalAI's controller, when it evicts or scales down one replica, asks the worker by the name of the model; a worker that
 * is given only a name ends something else than what was chosen, or all there is of that model. Here every command to
 * stop one replica stops each replica of its model on that node. Rows of the others still say that they serve.
 */
export const evictionRemovesSiblings: PlantedBug = {
  name: 'eviction-removes-siblings',
  what: 'to stop one replica stops all replicas of its model on the node',
  caughtBy: 'siblings',
  withinSeeds: 8,
  scene: { nodes: 3, models: 3, hours: 0.3, faults: ['change-rule', 'change-model'] },
  hooks: () => ({
    supervisor(real) {
      const stop = real.stop.bind(real)
      real.stop = (message) => {
        const named = message.target.what === 'replica' ? real.find(message.target.id) : undefined
        if (!named) return stop(message)
        const target = { what: 'model', model_name: named.spec.model_name, not_after: Infinity } as const
        return stop({ ...message, target })
      }
      return real
    },
  }),
}
