import type { RouteMessage } from '../../src/api/bus/messages.ts'
import type { Store } from '../store.ts'
import type { Check } from './check.ts'
import { isMeant } from './meant.ts'

/**
 * Invariant 2, of the leader's table at the moment it is told. Written apart from core/routing on purpose: it reads the
 * rows by itself. A gateway may lag behind; then the worker refuses by replica id and generation.
 */
export function routesCheck(): Check {
  return {
    name: 'routes (invariant 2)',
    look({ ground }) {
      for (const routes of ground.happened.published) {
        for (const route of routes) {
          const why = whyNot(ground.store, route)
          if (why) return `${route.replica_id} of ${route.model_name} is routed to, but ${why}`
        }
      }
      return undefined
    },
  }
}

function whyNot(store: Store, route: RouteMessage): string | undefined {
  const row = store.replicas.get(route.replica_id)
  const node = store.nodes.find(route.node_id)
  const model = store.models.get(route.model_name)
  if (!row) return 'there is no such replica'
  if (row.state !== 'ready') return `it is ${row.state}`
  if (row.generation !== route.generation) return 'it is of another generation'
  if (row.nodeId !== route.node_id || row.modelName !== route.model_name) return 'it is another one'
  if (!model) return 'its model is deleted'
  if (row.revision !== model.revision) return `it is of revision ${row.revision}, not ${model.revision}`
  if (!node?.approved) return `${route.node_id} is not approved`
  if (node.desired === 'draining') return `${route.node_id} is draining`
  if (node.liveness === 'offline') return `${route.node_id} is offline`
  const rule = store.rules.get(route.model_name)
  if (!isMeant(rule, node)) return `${route.node_id} has not the labels ${JSON.stringify(rule?.nodeSelector)}`
  return undefined
}
