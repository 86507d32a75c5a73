import { show, viewOf, type Act } from '../client.ts'
import { renderCluster } from './render-cluster.ts'

export const status: Act = async (client) => {
  const cluster = await client.api.call('showCluster')
  return show(client, cluster, () => renderCluster(cluster, viewOf(client)))
}
