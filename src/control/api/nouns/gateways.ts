import { gatewayIdOf } from '../../../api/gateway-id.ts'
import { AppError } from '../../../platform/errors.ts'
import { findNodeByKey } from '../../../store/nouns/nodes.ts'
import type { Answers } from '../answers.ts'
import type { AdminDeps } from '../deps.ts'

/** What a gateway process does for itself. Nothing of it is stored: it asks again whenever the bus does not know it. */
export function gatewayAnswers(deps: AdminDeps): Answers<'admitGateway'> {
  return {
    async admitGateway({ public_key: publicKey }, _params, { request }) {
      // A bus user has one set of rights: a node with this key would lose its own.
      const node = await findNodeByKey(deps.db, publicKey)
      if (node) {
        const text = `This key is the key of the node ${node.name}. Give the gateway a data folder of its own.`
        throw new AppError('conflict', text)
      }
      const gatewayId = gatewayIdOf(publicKey)
      const credentials = await deps.gatewayCredentialsFor({ gatewayId, publicKey }, request)
      return { gateway_id: gatewayId, ...credentials, cluster_id: deps.clusterId }
    },
  }
}
