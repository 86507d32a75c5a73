import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../platform/run/clock.ts'
import { silentLogger } from '../../platform/run/log.ts'
import { anyone, answer, aRouteMessage, aRoutedModel, aSnapshot } from '../../../test/support/gateway/gateway-stage.ts'
import { serve } from '../../../test/support/http/http.ts'
import { roleBuses } from '../../../test/support/bus/role-buses.ts'
import { aLoadStatus } from '../../../test/support/control/scripted-control.ts'
import { until } from '../../../test/support/until.ts'
import { startGateway } from '../start-gateway.ts'

/** Control and two gateways on a broker that lets each do only what its role may. */
async function aCluster() {
  const join = await roleBuses(['a', 'b'])
  const control = await join('control')
  const models = [aRoutedModel({ state: 'stopped' })]
  control.respond('routingSnapshot', async () => ({ ...aSnapshot({ models }), parts: 1 }))
  const startOne = async (name: string) => {
    const bus = await join(name)
    const gateway = startGateway({ bus, clock: systemClock, log: silentLogger, gatewayId: name, exposeNode: false })
    onTestFinished(() => gateway.dispose())
    const url = await serve((request, response) => gateway.handler(request, response, anyone))
    await until(() => gateway.problem() === undefined)
    return () => fetch(`${url}/v1/completions`, { method: 'POST', body: '{"model":"m"}' })
  }
  return { control, asks: await Promise.all([startOne('a'), startOne('b')]) }
}

test('requests at two gateways ask control over the bus, and are served when it says where', async () => {
  const { control, asks } = await aCluster()
  let wanted = 0
  control.respond('modelWanted', async ({ model_name: name }) => {
    wanted += name === 'm' ? 1 : 0
    return aLoadStatus()
  })
  const asked = Array.from({ length: 40 }, (_, i) => asks[i % 2]!())
  await until(() => wanted === 2)
  const address = new URL(await serve(answer('served'))).host
  const models = [aRoutedModel()]
  const delta = { feed: 'f', from_version: 1, version: 2, models, set: [aRouteMessage(0, { address })], removed: [] }
  control.publish('routingDelta', { ...delta, heard: ['n0'] })
  const texts = await Promise.all(asked.map(async (one) => (await one).text()))
  expect(new Set(texts)).toEqual(new Set(['served']))
})
