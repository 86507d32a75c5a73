import { describe, expect, onTestFinished, test } from 'vitest'
import type { GatewayCredentials } from '../../api/admin/schemas.ts'
import { SPOKEN } from '../../platform/peer-versions.ts'
import { AnyFrontend, StrangersError } from '../../http/client/any-frontend.ts'
import { AppError } from '../../platform/errors.ts'
import type { Logger } from '../../platform/run/log.ts'
import { VirtualClock } from '../../../test/support/virtual-clock.ts'
import { askFrontends, stayAdmitted } from './admission.ts'

const away = new AppError('unavailable', 'No frontend answers.')
const refused = new AppError('unauthorized', 'The admin key is wrong.')
const strangers = new StrangersError('No frontend answers (http://a: is this a Flotilla frontend?).')
const place = (url = 'nats://a:1', jwt: string | null = null): GatewayCredentials => ({
  gateway_id: 'g',
  bus_url: url,
  bus_jwt: jwt,
})

/** A JWT with this lifetime; nothing here checks its signature. */
function aJwt(lifeS: number): string {
  return `.${Buffer.from(JSON.stringify({ iat: 0, exp: lifeS })).toString('base64url')}.`
}

function aGateway(first: GatewayCredentials | AppError, { hasTable = false } = {}) {
  const clock = new VirtualClock()
  const over = new AbortController()
  onTestFinished(() => over.abort())
  const world = {
    answer: first,
    asks: 0,
    used: [] as string[],
    connected: true,
    refused: false,
    warnings: [] as string[],
    hasTable,
  }
  const link = {
    use: async (gatewayId: string, { bus_url: url }: GatewayCredentials) => {
      world.used.push(`${gatewayId} ${url}`)
      Object.assign(world, { connected: true, refused: false })
    },
    isConnected: () => world.connected,
    isRefused: () => world.refused,
  }
  const log = {
    warn: (fields: { error: string }) => void world.warnings.push(fields.error),
    info() {},
  } as never as Logger
  const ask = async (): Promise<GatewayCredentials> => {
    world.asks += 1
    if (world.answer instanceof AppError) throw world.answer
    return world.answer
  }
  const random = (): number => 0.5
  const ended = stayAdmitted({ ask, link, hasTable: () => world.hasTable, clock, random, log }, over.signal).then(
    () => undefined,
    (error: unknown) => error,
  )
  return { clock, world, ended }
}

describe('a gateway', () => {
  test('is let in and then leaves the frontends in peace, but for a question every few minutes', async () => {
    const { clock, world } = aGateway(place())
    await clock.advance(60_000)
    expect([world.asks, world.used]).toEqual([1, ['g nats://a:1']])
    await clock.advance(300_000)
    expect(world.asks).toBe(2)
  })

  test('asks at once where its place is when the bus refuses it, as a new one does', async () => {
    const { clock, world } = aGateway(place())
    await clock.advance(10_000)
    Object.assign(world, { connected: false, refused: true, answer: place('nats://b:2') })
    await clock.advance(1000)
    expect(world.used).toEqual(['g nats://a:1', 'g nats://b:2'])
  })

  test('asks less and less often, and for ever, while everything is away', async () => {
    const { clock, world } = aGateway(place())
    await clock.advance(1000)
    Object.assign(world, { connected: false, answer: away })
    await clock.advance(10 * 60_000)
    expect(world.asks).toBeGreaterThan(20)
    expect(world.asks).toBeLessThan(80)
    expect(world.warnings).toEqual([away.message])
    world.answer = place('nats://b:2')
    await clock.advance(15_000)
    expect(world.used).toContain('g nats://b:2')
  })

  test('gets a new JWT before the old one ends', async () => {
    const { clock, world } = aGateway(place('nats://a:1', aJwt(60)))
    await clock.advance(44_000)
    expect(world.asks).toBe(2)
  })

  test('waits for a frontend that is not there yet', async () => {
    const { clock, world } = aGateway(away)
    await clock.advance(60_000)
    world.answer = place()
    await clock.advance(15_000)
    expect(world.used).toHaveLength(1)
  })
})

describe('mistakes that the operator must correct', () => {
  test.each([
    [
      'a wrong key',
      refused,
      'The frontend does not admit this gateway: The admin key is wrong. Give the admin key with',
    ],
    ['another version', new AppError('bad_request', 'Update the gateway.'), 'Update the gateway.'],
    ['no frontend', strangers, 'Name a frontend of the cluster with --url.'],
  ])('ends it: %s', async (_, error, message) => {
    const { ended } = aGateway(error)
    expect(await ended).toMatchObject({ code: 'usage', message: expect.stringContaining(message) })
  })

  test.each([
    ['once it serves', true, refused],
    ['once it serves', true, strangers],
  ])('does not end it %s', async (_, hasTable, error) => {
    const { clock, world } = aGateway(error, { hasTable })
    await clock.advance(60_000)
    expect([world.asks > 2, world.warnings]).toEqual([true, [error.message]])
  })

  test('does not end it once it was let in', async () => {
    const { clock, world } = aGateway(place())
    await clock.advance(1000)
    Object.assign(world, { connected: false, answer: refused })
    await clock.advance(60_000)
    world.answer = place('nats://b:2')
    await clock.advance(15_000)
    expect(world.used).toContain('g nats://b:2')
  })
})

describe('asking', () => {
  const asking = (status: number, body: unknown) => {
    const seen: object[] = []
    const any = new AnyFrontend(['http://a'], {}, async (url, { body: sent, token }) => {
      seen.push({ url: url.href, sent, token })
      return { status, body, dateMs: undefined }
    })
    return { seen, ask: askFrontends(any, 'key', 'UKEY') }
  }

  test('shows the key and names protocol and public key', async () => {
    const { seen, ask } = asking(200, place())
    expect(await ask()).toEqual(place())
    const sent = { protocol: SPOKEN.newest, public_key: 'UKEY' }
    expect(seen).toEqual([{ url: 'http://a/api/gateways/credentials', sent, token: 'key' }])
  })

  test.each([
    ['an answer of another shape', 200, { hello: 'world' }],
    ['a page that is not there', 404, { error: 'no such page' }],
  ])('takes %s for that of a stranger', async (_, status, body) => {
    await expect(asking(status, body).ask()).rejects.toBeInstanceOf(StrangersError)
  })

  test('takes the failure of a proxy for silence', async () => {
    const error: unknown = await asking(502, {})
      .ask()
      .catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'unavailable' })
    expect(error).not.toBeInstanceOf(StrangersError)
  })
})
