import { expect, test } from 'vitest'
import { SPOKEN } from '../../../platform/peer-versions.ts'
import { gatewayIdOf } from '../../../api/gateway-id.ts'
import { newSeed, publicKeyOf } from '../../../bus/nkey.ts'
import { aStage, sharedStage } from '../../../../test/support/control/admin-stage.ts'

const stage = sharedStage()
const PATH = '/api/gateways/credentials'
const publicKey = publicKeyOf(newSeed())
const ask = (body: object) => stage().scene.admin<{ error: { message: string } }>('POST', PATH, body)

test('a gateway gets its place on the bus, under an id that is the same for the same key', async () => {
  const answers = [
    await ask({ protocol: SPOKEN.newest, public_key: publicKey }),
    await ask({ protocol: SPOKEN.newest, public_key: publicKey }),
  ]
  const body = { gateway_id: gatewayIdOf(publicKey), bus_url: 'nats://bus:4222', bus_jwt: null }
  for (const answer of answers) expect(answer).toMatchObject({ status: 200, body })
  expect(gatewayIdOf(publicKey)).not.toBe(gatewayIdOf(publicKeyOf(newSeed())))
})

test.each([
  [{ protocol: SPOKEN.oldest - 1, public_key: publicKey }, 'Update the gateway.'],
  [{ protocol: SPOKEN.newest + 1, public_key: publicKey, colour: 'new' }, 'Update the frontend.'],
  [{ protocol: SPOKEN.newest, public_key: 'SUSECRET' }, 'must be an nkey user public key'],
  [{ public_key: publicKey }, 'protocol'],
])('%j is refused with what to do', async (body, message) => {
  const answer = await ask(body)
  expect(answer.status).toBe(400)
  expect(answer.body.error.message).toContain(message)
})

test('the key of a node is not good for a gateway: the node would lose its rights', async () => {
  const { scene, thor } = await aStage()
  const answer = await scene.admin('POST', PATH, { protocol: SPOKEN.newest, public_key: thor.publicKey })
  expect(answer).toMatchObject({ status: 409, body: { error: { message: expect.stringContaining('node thor') } } })
})
