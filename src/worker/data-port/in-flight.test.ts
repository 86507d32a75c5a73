import type { ServerResponse } from 'node:http'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { replicaPath } from '../../api/data-port.ts'
import type { Handler } from '../../http/server.ts'
import { until } from '../../../test/support/until.ts'
import { aDataPort, askRaw, gatewayHeaders } from '../../../test/support/worker/data-port.ts'

const WHOLE = 'a whole answer'

/** What an engine does, told in the query of the request. */
const engines = {
  'answers whole': (response: ServerResponse) => void response.end(WHOLE),
  'streams whole': (response: ServerResponse) => {
    response.write(WHOLE.slice(0, 5))
    setImmediate(() => response.end(WHOLE.slice(5)))
  },
  'dies before its first byte': (response: ServerResponse) => void response.destroy(),
  'dies after its first byte': (response: ServerResponse) => {
    response.write('a part')
    setImmediate(() => response.destroy())
  },
  'hangs before its first byte': () => {},
  'hangs after its first byte': (response: ServerResponse) => void response.write('a part'),
} satisfies Record<string, (response: ServerResponse) => void>
type Engine = keyof typeof engines

interface Scene {
  engine: Engine
  /** Whether the engine waits for the whole request before it does that. */
  reads: boolean
  bodyBytes: number
  clientLeaves: 'never' | 'while connecting' | 'while sending' | 'after sending' | 'at the head of the answer'
}

const scene: fc.Arbitrary<Scene> = fc.record({
  engine: fc.constantFrom(...(Object.keys(engines) as Engine[])),
  reads: fc.boolean(),
  bodyBytes: fc.constantFrom(0, 10, 300_000),
  clientLeaves: fc.constantFrom(
    'never' as const,
    'while connecting' as const,
    'while sending' as const,
    'after sending' as const,
    'at the head of the answer' as const,
  ),
})

test('whoever breaks off when, each request counts once and ends once, and only whole answers look whole', async () => {
  let engineOpen = 0
  const engine: Handler = (request, response) => {
    const asked = new URL(request.url!, 'http://engine').searchParams
    const behave = engines[asked.get('engine') as Engine]
    engineOpen += 1
    response.once('close', () => (engineOpen -= 1))
    if (asked.get('reads') === 'true') request.once('end', () => behave(response))
    else behave(response)
    // Later, but it must read: a server that does not read does not see that its client has gone.
    setImmediate(() => request.resume())
  }
  const { url, replica } = await aDataPort(engine)
  await fc.assert(
    fc.asyncProperty(fc.array(scene, { minLength: 1, maxLength: 16 }), fc.boolean(), async (scenes, renames) => {
      replica.requestModel = renames ? 'other' : undefined
      const outcomes = await Promise.all(scenes.map((one) => play(url, one)))
      for (const [i, outcome] of outcomes.entries()) {
        const { engine: did, clientLeaves, reads } = scenes[i]!
        // Who has left cannot say how it went.
        if (clientLeaves !== 'never') continue
        if (did.endsWith('whole')) expect(outcome).toMatchObject({ status: 200, text: WHOLE })
        else if (did === 'dies before its first byte') expect(outcome).toMatchObject({ status: 502, isRefusal: true })
        else if (reads) expect(outcome).toBe('broken')
        // The first byte of one who hangs up on what was sent to him may be lost on the way.
        else expect(outcome === 'broken' || outcome.isRefusal).toBe(true)
      }
      await until(() => replica.inFlight === 0 && engineOpen === 0)
      expect(replica.ended).toBe(replica.begun)
    }),
    { numRuns: 40 },
  )
})

async function play(url: string, { engine, reads, bodyBytes, clientLeaves }: Scene) {
  const behaviour = new URLSearchParams({ engine, reads: String(reads) })
  // As gateways do: on one who wants it closed, a connection closes with the answer, sent whole or not.
  const headers = { ...gatewayHeaders, 'content-length': bodyBytes, connection: 'keep-alive' }
  // Nobody waits for ever: who would stay with an engine that hangs leaves when all is sent.
  const leaves = clientLeaves === 'never' && engine.startsWith('hangs') ? 'after sending' : clientLeaves
  const options = { method: 'POST', headers }
  const asked = askRaw(`${url}${replicaPath('r', 7)}/v1/x?${behaviour}`, options, (outgoing) => {
    const leave = (): void => void outgoing.destroy()
    if (leaves === 'while connecting') setImmediate(leave)
    if (leaves === 'at the head of the answer') {
      outgoing.once('response', leave)
      // There may be no such head.
      if (engine === 'hangs before its first byte') outgoing.once('finish', () => setImmediate(leave))
    }
    if (leaves === 'after sending') outgoing.once('finish', () => setImmediate(leave))
    if (leaves === 'while sending') {
      outgoing.once('socket', (socket) => socket.once('connect', () => setImmediate(leave)))
      outgoing.write(Buffer.alloc(bodyBytes >> 1))
    } else outgoing.end(Buffer.alloc(bodyBytes, 'x'))
  })
  return asked.catch(() => 'broken' as const)
}
