import { show, viewOf, type Act } from '../client.ts'
import { renderDecision } from './decision.ts'

/** How one request was routed. */
export const why: Act = async (client, { values }) => {
  const decision = await client.api.call('explainRequest', { id: values[0]! })
  return show(client, decision, () => renderDecision(decision, viewOf(client)))
}
