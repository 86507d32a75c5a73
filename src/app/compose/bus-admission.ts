import { pathOf, type Handler } from '../../http/server.ts'
import type { adminApi } from '../../control/api/admin-api.ts'
import { peerOf } from '../bus/bus-address.ts'
import type { MessageBus } from '../bus/message-bus.ts'

type AdminDeps = Parameters<typeof adminApi>[0]
type Admission = Pick<AdminDeps, 'credentialsFor' | 'gatewayCredentialsFor' | 'onNodeApproved' | 'onNodeRemoved'>

/** How the admin API lets nodes and gateways onto the bus, and takes nodes off it. */
export function busAdmission(bus: MessageBus, onNodeRemoved: (nodeId: string) => void): Admission {
  return {
    // The bus has the address under which that very node reaches it.
    credentialsFor: (nodeId, publicKey, request) => ({
      bus_url: bus.urlFor(peerOf(request)),
      bus_jwt: bus.jwtFor({ nodeId, publicKey }),
      ...bus.certificate,
    }),
    gatewayCredentialsFor: (given, request) => ({
      bus_url: bus.urlFor(peerOf(request)),
      bus_jwt: bus.admitGateway(given),
      ...bus.certificate,
    }),
    onNodeApproved: (publicKey, nodeId) => bus.admit({ publicKey, nodeId }),
    onNodeRemoved(nodeId, publicKey) {
      onNodeRemoved(nodeId)
      return bus.expel({ publicKey, nodeId })
    },
  }
}

/** A node that will never reach the bus had better hear it when it joins than when it is approved. */
export function refuseOutOfReach(bus: MessageBus, api: Handler): Handler {
  return (request, response) => {
    if (pathOf(request) === '/api/node/register') bus.urlFor(peerOf(request))
    return api(request, response)
  }
}
