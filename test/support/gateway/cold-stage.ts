import type { RouteMessage } from '../../../src/api/bus/messages.ts'
import type { Handler } from '../../../src/http/server.ts'
import { aGateway, aRoutedModel, type StageOptions } from './gateway-stage.ts'
import { ScriptedControl } from '../control/scripted-control.ts'

/** A gateway with a model `cold` that no replica serves, until one of the workers `comes` to do so. */
export async function aColdGateway(workers: Handler[], options: StageOptions = {}) {
  const control = new ScriptedControl()
  const models = [aRoutedModel(), aRoutedModel({ name: 'cold', state: 'stopped' })]
  const gateway = await aGateway(workers, { models, bus: control.bus, modelLoadWaitMs: 60_000, ...options })
  const { table, routes, ask } = gateway
  let version = 1
  const tell = (fields: { set?: RouteMessage[]; removed?: string[]; models?: typeof models }): void => {
    const delta = { feed: 'f', from_version: version, version: version + 1, set: [], removed: [], heard: [], ...fields }
    version += 1
    table.apply(delta, (options.clock ?? { nowMs: Date.now }).nowMs())
  }
  return {
    ...gateway,
    control,
    tell,
    /** The worker of this number serves it from now on, as replica c0, c1, … */
    comes: (i = 0) => tell({ set: [{ ...routes[i]!, replica_id: `c${i}`, model_name: 'cold' }] }),
    goes: (i = 0) => tell({ removed: [`c${i}`] }),
    askCold: (init: RequestInit = {}, body: object = {}) => ask({ model: 'cold', ...body }, init),
  }
}
