import { describe, expect, onTestFinished, test } from 'vitest'
import { REFUSAL_HEADER } from '../../api/data-port.ts'
import type { UpgradeHandler } from '../../http/server.ts'
import { forward } from '../../http/proxy.ts'
import { aColdGateway } from '../../../test/support/gateway/cold-stage.ts'
import {
  aGateway,
  answer,
  aRouteMessage,
  counted,
  hangUp,
  type StageOptions,
} from '../../../test/support/gateway/gateway-stage.ts'
import { rawClient } from '../../../test/support/http/raw-client.ts'
import { until } from '../../../test/support/until.ts'
import { VirtualClock } from '../../../test/support/virtual-clock.ts'
import { handshake } from '../../../test/support/http/web-socket-engine.ts'

/** Nothing listens there. */
const NOWHERE = '127.0.0.1:1'

type Said = 'agrees' | 'hangs up' | 'says nothing' | number

/** A node that answers handshakes like this, and probes as a living replica unless it is told otherwise. */
function aNode(said: Said, probed = answer('{}')) {
  const handler = counted(probed)
  const node = { handler, handshakes: 0, said }
  const onUpgrade: UpgradeHandler = (_, socket) => {
    node.handshakes += 1
    onTestFinished(() => void socket.destroy())
    socket.on('error', () => {})
    if (node.said === 'agrees')
      socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n')
    else if (node.said === 'hangs up') socket.destroy()
    else if (node.said !== 'says nothing')
      socket.end(`HTTP/1.1 ${node.said} Refused\r\n${REFUSAL_HEADER}: 1\r\ncontent-length: 0\r\n\r\n`)
  }
  return Object.assign(node, { onUpgrade })
}

type Node = ReturnType<typeof aNode>

const behind = (nodes: readonly Node[]) => nodes.map(({ handler }) => handler)
const upgradesOf = (nodes: readonly Node[]) => nodes.map(({ onUpgrade }) => onUpgrade)

async function openAt(url: string, path = '/v1/realtime?model=m') {
  const client = await rawClient(url)
  client.send(handshake(path))
  return client
}

/** A gateway in front of these nodes, as r0, r1, …; the first is asked first. */
async function aSocketGateway(nodes: readonly Node[], options: StageOptions = {}) {
  const gateway = await aGateway(behind(nodes), { upgrades: upgradesOf(nodes), ...options })
  return { ...gateway, open: () => openAt(gateway.url) }
}

/** The same, with all that is said of replicas and nodes said by the test. */
const scripted = (probe: NonNullable<StageOptions['network']>['probe'], isAway: { n0: boolean } = { n0: false }) => {
  const asked: string[] = []
  const askNode = async ({ nodeId }: { nodeId: string }) => {
    asked.push(nodeId)
    return isAway.n0 && nodeId === 'n0' ? 'no answer within 2 s' : undefined
  }
  return { asked, network: { forward, probe, askNode } }
}

describe('the replica of a WebSocket that was long silent', () => {
  test('is probed first: one that is dead gets no handshake', async () => {
    const [dead, alive] = [aNode('agrees', hangUp), aNode('agrees')]
    const { open, inFlight } = await aSocketGateway([dead, alive], { isHeard: false })
    await (await open()).reads('101')
    expect([dead.handler.probes > 0, dead.handshakes, alive.handshakes]).toEqual([true, 0, 1])
    expect(inFlight()).toEqual([0, 1])
  })

  test('may be one of many that are gone: more of them are probed than may be tried', async () => {
    const addresses = Array.from({ length: 9 }, () => NOWHERE)
    const node = aNode('agrees')
    const { open } = await aSocketGateway([node], { isHeard: false, addresses })
    for (let i = 0; i < 3; i += 1) await (await open()).reads('101')
    expect(node.handshakes).toBe(3)
  })

  test('is still tried when it does not answer the probe and there is no other', async () => {
    const node = aNode('agrees')
    let probes = 0
    const { network } = scripted(async () => {
      probes += 1
      return { state: 'silent', why: 'no answer within 2 s' }
    })
    const { open } = await aSocketGateway([node], { isHeard: false, network })
    await (await open()).reads('101')
    expect(probes).toBe(1)
  })

  test('gets no handshake of a client that goes away during the probe', async () => {
    const node = aNode('agrees')
    let probes = 0
    const { network } = scripted(() => {
      probes += 1
      return new Promise(() => {})
    })
    const { open, inFlight } = await aSocketGateway([node], { isHeard: false, network })
    const client = await open()
    await until(() => probes === 1 && inFlight()[0] === 1)
    client.socket.destroy()
    await until(() => inFlight()[0] === 0)
    expect(node.handshakes).toBe(0)
  })
})

describe('a node that goes away without a word', () => {
  const alive = async () => ({ state: 'alive' }) as const

  test('loses the handshake that it holds to another replica within 3 s', async () => {
    const clock = new VirtualClock(1_000_000)
    const [away, other] = [aNode('says nothing'), aNode('agrees')]
    const { network } = scripted(alive, { n0: true })
    const { open, inFlight } = await aSocketGateway([away, other], { clock, network })
    const client = await open()
    await until(() => away.handshakes === 1)
    await clock.advance(2999)
    expect([other.handshakes, client.text()]).toEqual([0, ''])
    await clock.advance(1)
    await client.reads('101')
    expect(inFlight()).toEqual([0, 1])
  })

  test('keeps the handshake for as long as it answers: its engine may be busy', async () => {
    const clock = new VirtualClock(1_000_000)
    const [busy, other] = [aNode('says nothing'), aNode('agrees')]
    const { network, asked } = scripted(alive)
    const { open } = await aSocketGateway([busy, other], { clock, network })
    await open()
    await until(() => busy.handshakes === 1)
    await clock.advance(10_000)
    expect([asked.length > 0, other.handshakes]).toEqual([true, 0])
  })

  test('is not asked for the sake of a WebSocket that is open: that may be silent for hours', async () => {
    const clock = new VirtualClock(1_000_000)
    const { network, asked } = scripted(alive, { n0: true })
    const { open, inFlight } = await aSocketGateway([aNode('agrees'), aNode('agrees')], { clock, network })
    const client = await open()
    await client.reads('101')
    await clock.advance(3_600_000)
    expect([asked, client.isClosed(), inFlight()]).toEqual([[], false, [1, 0]])
  })
})

describe('a WebSocket whose replicas fail', () => {
  test('is taken to three that may have had its handshake, and to each once', async () => {
    const nodes = Array.from({ length: 5 }, () => aNode('hangs up'))
    const { open, inFlight } = await aSocketGateway(nodes)
    const said = await (await open()).closes()
    expect(said).toMatch(
      /^HTTP\/1\.1 502 [\s\S]*retry-after: 2[\s\S]*cannot be reached: 3 of its replicas did not answer/,
    )
    expect(nodes.map(({ handshakes }) => handshakes).toSorted((a, b) => a - b)).toEqual([0, 0, 1, 1, 1])
    expect(inFlight()).toEqual([0, 0, 0, 0, 0])
  })

  test('is refused as a request is when all refuse', async () => {
    const { open } = await aSocketGateway([aNode(503), aNode(404)])
    expect(await (await open()).closes()).toMatch(
      /^HTTP\/1\.1 503 [\s\S]*"code":"model_not_ready"|2 of its replicas refused/,
    )
  })

  test('asks those beside one that cannot be reached last', async () => {
    const [far, other] = [aNode('agrees'), aNode('agrees')]
    const { open, table, routes } = await aSocketGateway([other], { probeTtlMs: 0 })
    // One beside the node that is gone would answer, and is never asked: another node is more likely to.
    const beside = await aSocketGateway([far])
    const lost = [
      aRouteMessage(1, { address: NOWHERE, node_id: 'gone' }),
      aRouteMessage(2, { address: beside.routes[0]!.address, node_id: 'gone' }),
    ]
    await (await open()).reads('101')
    table.apply({ feed: 'f', version: 2, from_version: 1, set: lost, removed: [], heard: [] }, Date.now())
    await (await open()).reads('101')
    expect([routes.length, other.handshakes, far.handshakes]).toEqual([1, 2, 0])
  })

  test('waits for the replacement for as long as its time lasts', async () => {
    const clock = new VirtualClock()
    const node = aNode('agrees')
    const stage = { upgrades: [node.onUpgrade], addresses: [NOWHERE], probeTtlMs: 0, clock }
    const { url, comes, goes, control } = await aColdGateway([node.handler], stage)
    comes(1)
    const client = await openAt(url, '/v1/realtime?model=cold')
    for (let round = 1; round <= 10; round += 1) {
      await until(() => control.asked.length >= round)
      await clock.advance(2000)
    }
    expect(client.text()).toBe('')
    goes(1)
    comes(0)
    await client.reads('101')
    expect(node.handshakes).toBe(1)
  })
})
