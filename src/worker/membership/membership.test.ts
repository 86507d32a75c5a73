import { describe, expect, onTestFinished, test } from 'vitest'
import type { NodeCredentials, NodeRegistration, Registered } from '../../api/admin/schemas.ts'
import { AppError } from '../../platform/errors.ts'
import type { Logger } from '../../platform/run/log.ts'
import { VirtualClock } from '../../../test/support/virtual-clock.ts'
import { takePart, type Departure, type Link } from './membership.ts'

const registration = { name: 'gpu1', boot_id: 'boot' } as Omit<NodeRegistration, 'signed_at'>
const credentials: NodeCredentials = {
  bus_url: 'nats://a:4222',
  bus_jwt: null,
  data_key: 'd',
  heartbeat_period_ms: 5000,
}
const pending: Registered = { node_id: 'n1', name: 'gpu1', approved: false, credentials: null }
const approved: Registered = { node_id: 'n1', name: 'gpu1', approved: true, credentials }
const away = new AppError('unavailable', 'No frontend answers (http://a: connect ECONNREFUSED).')
const gone = new AppError('forbidden', 'gpu1 was removed from the cluster.', { details: { node: 'removed' } })
const unknown = new AppError('node_unknown', 'This cluster has no node "n1".')
const second = new AppError('conflict', 'gpu1 is already connected.', { details: { run: 'second' } })
const otherRun = new AppError('conflict', 'Another process has registered.', { details: { run: 'other' } })
const otherCluster = new AppError('other_cluster', 'The frontend is of another cluster.')

/** A JWT that lives for an hour, as far as a worker looks at it. */
const jwt = (id: string) => `x.${Buffer.from(JSON.stringify({ id, iat: 1000, exp: 4600 })).toString('base64url')}.x`

type Says = Registered | Error

/** A node whose frontends say what the test makes them say, and whose bus does what the test makes it do. */
function aNode(first: Says = approved) {
  const clock = new VirtualClock(1_700_000_000_000)
  const world = {
    says: first,
    busFails: undefined as Error | undefined,
    connected: false,
    refused: false,
    registrations: 0,
    asks: 0,
    /** What registering is answered, when that is not what everything is answered. */
    takesAs: undefined as Says | undefined,
    ids: [] as string[],
    problem: undefined as string | undefined,
    isDoubted: false,
    /** Times it was told that it is the second of two. */
    seconds: 0,
    used: [] as NodeCredentials[],
    lines: [] as string[],
    over: undefined as Departure | 'aborted' | undefined,
  }
  const answer = async (says = world.says): Promise<Registered> => {
    if (says instanceof Error) throw says
    return says
  }
  const link: Link = {
    async use(_, given) {
      const isKnown = world.used.at(-1)?.bus_url === given.bus_url && !world.refused
      if (world.busFails && !isKnown) throw world.busFails
      world.used.push(given)
      // A connection to the same address comes back by itself, when it does.
      if (isKnown) return
      Object.assign(world, { connected: true, refused: false })
    },
    isConnected: () => world.connected,
    isRefused: () => world.refused,
  }
  const tell = (fields: unknown, text?: string): void => {
    world.lines.push(text ?? String(fields))
  }
  const end = new AbortController()
  onTestFinished(() => end.abort())
  const deps = {
    frontends: {
      register() {
        world.registrations += 1
        return answer(world.takesAs)
      },
      credentials() {
        world.asks += 1
        return answer()
      },
    },
    registration,
    link,
    clock,
    random: () => 1,
    log: { info: tell, warn: tell, debug() {} } as unknown as Logger,
    onRegistered: (id: string) => void world.ids.push(id),
    onProblem: (problem: string | undefined) => void (world.problem = problem),
    isDue() {
      const { isDoubted } = world
      world.isDoubted = false
      return isDoubted
    },
    onSecond: () => void (world.seconds += 1),
    onCredentials() {},
  }
  void takePart(deps, end.signal).then((departure) => (world.over = departure ?? 'aborted'))
  return { clock, world, end }
}

describe('joining', () => {
  test('an approved node connects at once and then leaves the frontends in peace', async () => {
    const { clock, world } = aNode()
    await clock.advance(60_000)
    expect(world).toMatchObject({ used: [credentials], registrations: 1, asks: 0, lines: [] })
  })

  test('a pending node waits without touching the bus, says once how to approve it, and goes on when it is', async () => {
    const { clock, world } = aNode(pending)
    await clock.advance(20_000)
    expect(world.used).toEqual([])
    expect(world.asks).toBe(10)
    expect(world.lines).toEqual(['waiting for approval: flotilla nodes approve gpu1'])
    world.says = approved
    await clock.advance(2000)
    expect(world.used).toEqual([credentials])
    expect(world.registrations).toBe(1)
    expect(world.lines.at(-1)).toBe('approved')
  })

  test('frontends that do not answer are told once and tried for ever, ever more rarely', async () => {
    const { clock, world } = aNode(away)
    await clock.advance(3_600_000)
    expect(world.registrations).toBeGreaterThan(200)
    expect(world.registrations).toBeLessThan(260)
    expect(world.lines).toEqual(['cannot register now; trying again'])
    world.says = approved
    await clock.advance(15_000)
    expect(world.used).toEqual([credentials])
    expect(world.lines.at(-1)).toBe('a frontend answers again')
  })

  test.each([
    ['a wrong token', new AppError('unauthorized', 'The join token is wrong.')],
    ['a name that another has', new AppError('conflict', 'Another node is called "gpu1".')],
    ['a protocol that is too old', new AppError('bad_request', 'Update the worker.')],
  ])('%s ends it at once, with the words of the frontend', async (_, error) => {
    const { clock, world } = aNode(error)
    await clock.advance(0)
    const message = `The cluster does not take this node: ${error.message}`
    expect(world.over).toEqual({ why: 'refused', message })
    expect(world.registrations).toBe(1)
  })

  test('a pending node that is removed ends', async () => {
    const { clock, world } = aNode(pending)
    await clock.advance(1000)
    world.says = gone
    await clock.advance(2000)
    expect(world.over).toEqual({ why: 'removed', message: gone.message })
  })

  test('a bus that cannot be had yet is tried again with fresh credentials', async () => {
    const { clock, world } = aNode(new AppError('unavailable', ''))
    world.says = approved
    world.busFails = new Error('connection refused')
    await clock.advance(60_000)
    expect(world.lines.filter((line) => line.startsWith('cannot connect to the bus'))).toHaveLength(1)
    expect(world.asks).toBeGreaterThan(3)
    world.busFails = undefined
    await clock.advance(15_000)
    expect(world.connected).toBe(true)
  })

  test('aborting ends it wherever it is', async () => {
    for (const says of [approved, pending, away]) {
      const { clock, world, end } = aNode(says)
      await clock.advance(1000)
      end.abort()
      await clock.advance(0)
      expect(world.over).toBe('aborted')
    }
  })
})

describe('staying', () => {
  test('a bus that is back soon is no reason to ask where it is', async () => {
    const { clock, world } = aNode()
    await clock.advance(10_000)
    world.connected = false
    await clock.advance(4000)
    expect(world.asks).toBe(0)
    world.connected = true
    // Afterwards: whether we are still wanted, and where we are now.
    await clock.advance(4000)
    expect(world).toMatchObject({ asks: 1, registrations: 2, over: undefined })
  })

  test('a bus that stays away may have moved: the frontends are asked after 5 s, then ever more rarely', async () => {
    const { clock, world } = aNode()
    await clock.advance(10_000)
    const moved = { ...credentials, bus_url: 'nats://b:4222' }
    world.connected = false
    await clock.advance(6000)
    expect(world.asks).toBe(1)
    await clock.advance(600_000)
    expect(world.asks).toBeGreaterThan(15)
    expect(world.asks).toBeLessThan(30)
    world.says = { ...approved, credentials: moved }
    await clock.advance(30_000)
    expect(world.used.at(-1)).toEqual(moved)
    expect(world.over).toBeUndefined()
  })

  test('with the frontends away, too, the node waits for as long as it takes', async () => {
    const { clock, world } = aNode()
    await clock.advance(10_000)
    world.connected = false
    world.says = away
    await clock.advance(3_600_000)
    expect(world.over).toBeUndefined()
    world.says = approved
    await clock.advance(30_000)
    expect(world.over).toBeUndefined()
    expect(world.lines).toEqual(['cannot get credentials now; trying again', 'a frontend answers again'])
  })

  test('a bus that refuses us makes us ask at once, and when we were removed, stop', async () => {
    const { clock, world } = aNode()
    await clock.advance(10_000)
    Object.assign(world, { connected: false, refused: true, says: gone })
    await clock.advance(1000)
    expect(world.over).toEqual({ why: 'removed', message: gone.message })
  })

  test('a clock that is off, or any other trouble with our asking, stops nothing', async () => {
    const { clock, world } = aNode()
    await clock.advance(10_000)
    Object.assign(world, { connected: false, refused: true, says: new AppError('unauthorized', 'Set both clocks.') })
    await clock.advance(600_000)
    expect(world.over).toBeUndefined()
  })

  test('a removal that nobody told us is found out within minutes', async () => {
    const { clock, world } = aNode()
    await clock.advance(10_000)
    world.says = gone
    await clock.advance(5 * 60_000)
    expect(world.over).toMatchObject({ why: 'removed' })
  })

  test('JWTs are renewed long before they end, with nothing else changed', async () => {
    const { clock, world } = aNode({ ...approved, credentials: { ...credentials, bus_jwt: jwt('1') } })
    await clock.advance(1000)
    world.says = { ...approved, credentials: { ...credentials, bus_jwt: jwt('2') } }
    await clock.advance(0.75 * 3_600_000)
    expect(world.used.map(({ bus_jwt }) => bus_jwt).slice(0, 2)).toEqual([jwt('1'), jwt('2')])
    expect(world.registrations).toBe(1)
  })

  test('a JWT of seconds is renewed in seconds', async () => {
    const short = `x.${Buffer.from(JSON.stringify({ iat: 0, exp: 20 })).toString('base64url')}.x`
    const { clock, world } = aNode({ ...approved, credentials: { ...credentials, bus_jwt: short } })
    await clock.advance(16_000)
    expect(world.asks).toBe(1)
  })
})

describe('a frontend that does not know us', () => {
  test('is registered at again, and the node goes on under its new id', async () => {
    const { clock, world } = aNode()
    await clock.advance(10_000)
    world.takesAs = { ...approved, node_id: 'n2' }
    Object.assign(world, { connected: false, refused: true, says: unknown })
    await clock.advance(1000)
    expect(world).toMatchObject({ over: undefined, ids: ['n1', 'n2'], connected: true })
    expect(world.used.at(-1)).toEqual(credentials)
  })

  test('waits for approval once more when it has to, and nothing ends', async () => {
    const { clock, world } = aNode()
    await clock.advance(10_000)
    world.takesAs = { ...pending, node_id: 'n2' }
    Object.assign(world, { connected: false, refused: true, says: unknown })
    await clock.advance(1000)
    expect(world.lines.at(-1)).toBe('waiting for approval: flotilla nodes approve gpu1')
    world.says = { ...approved, node_id: 'n2' }
    await clock.advance(3000)
    expect(world).toMatchObject({ over: undefined, connected: true })
  })

  test.each([
    ['a token that the store does not know', new AppError('unauthorized', 'The join token is wrong.')],
    ['a name that another has by now', new AppError('conflict', 'Another node is called "gpu1".')],
  ])('%s ends nothing: it is told once a minute, and tried for ever', async (_, refusal) => {
    const { clock, world } = aNode()
    await clock.advance(10_000)
    world.takesAs = refusal
    Object.assign(world, { connected: false, refused: true, says: unknown })
    await clock.advance(10 * 60_000)
    expect(world).toMatchObject({ over: undefined, problem: refusal.message })
    const told = world.lines.filter((line) => line === 'cannot get credentials now; trying again')
    expect(told.length).toBeGreaterThanOrEqual(9)
    expect(told.length).toBeLessThanOrEqual(11)
    world.takesAs = approved
    await clock.advance(20_000)
    expect(world).toMatchObject({ connected: true, problem: undefined })
  })

  test('of the release before, which says "not found", is not taken for a removal either', async () => {
    const { clock, world } = aNode()
    await clock.advance(10_000)
    world.takesAs = approved
    Object.assign(world, { connected: false, refused: true, says: new AppError('not_found', 'There is no node "n1".') })
    await clock.advance(1000)
    expect(world).toMatchObject({ over: undefined, registrations: 2, connected: true })
  })

  test('is asked at once when control says on the bus that it does not know us', async () => {
    const { clock, world } = aNode()
    await clock.advance(10_000)
    world.takesAs = { ...approved, node_id: 'n2' }
    Object.assign(world, { isDoubted: true, says: unknown })
    await clock.advance(2000)
    expect(world.ids).toEqual(['n1', 'n2'])
  })
})

test('a frontend of another cluster ends nothing, neither at the start nor later', async () => {
  for (const afterMs of [0, 10_000]) {
    const { clock, world } = aNode(afterMs === 0 ? otherCluster : approved)
    await clock.advance(afterMs)
    Object.assign(world, { connected: false, refused: true, says: otherCluster })
    await clock.advance(10 * 60_000)
    expect(world).toMatchObject({ over: undefined, problem: otherCluster.message })
    world.says = approved
    await clock.advance(20_000)
    expect(world).toMatchObject({ over: undefined, connected: true })
  }
})

describe('two processes with one key', () => {
  test('the second keeps trying, without the bus, until the first has gone', async () => {
    const { clock, world } = aNode(second)
    await clock.advance(60_000)
    expect(world).toMatchObject({ over: undefined, used: [], problem: 'gpu1 is already connected.' })
    expect(world.seconds).toBe(world.registrations)
    expect(world.seconds).toBeGreaterThan(3)
    world.says = approved
    await clock.advance(15_000)
    expect(world).toMatchObject({ used: [credentials], problem: undefined })
  })

  test('one that is no longer the run of its node registers again, and runs nothing while the other is there', async () => {
    const { clock, world } = aNode()
    await clock.advance(1000)
    world.says = otherRun
    world.takesAs = approved
    world.isDoubted = true
    await clock.advance(2000)
    expect(world).toMatchObject({ registrations: 2, seconds: 0, over: undefined })
    world.takesAs = second
    world.isDoubted = true
    await clock.advance(20_000)
    expect(world.seconds).toBeGreaterThan(2)
    expect(world.over).toBeUndefined()
    world.takesAs = approved
    await clock.advance(15_000)
    const { seconds } = world
    world.says = approved
    await clock.advance(60_000)
    expect(world).toMatchObject({ seconds, connected: true, problem: undefined })
  })
})
