import { expect, test } from 'vitest'
import type { Bus, Responder } from '../bus/bus.ts'
import type { ReplicaStartMessage } from '../api/bus/messages.ts'
import { obey, type Obedience } from './obey.ts'
import type { Supervisor } from './supervisor.ts'

const aStart = { id: 'r', generation: 1, model_name: 'm', replica_index: 0, engine: 'sim', options: {} }

/** What a node answers to commands, and what it did. */
function aNode(nodeType: Obedience['nodeType']) {
  const responders = new Map<string, Responder<'replicaStart' | 'nodeShutdown'>>()
  const started: ReplicaStartMessage[] = []
  const reasons: string[] = []
  const bus = { respond: (name: string, handler: never) => responders.set(name, handler) } as unknown as Bus
  const supervisor = { start: (spec: ReplicaStartMessage) => started.push(spec) } as unknown as Supervisor
  obey(bus, 'n1', { nodeType, supervisor, nextSeq: () => 8, onShutdown: (reason) => reasons.push(reason) })
  return { tell: (name: string, message: object) => responders.get(name)!(message as never), started, reasons }
}

test('a start is answered with the first heartbeat that will tell of it', async () => {
  const { tell, started } = aNode('backend')
  expect(await tell('replicaStart', aStart)).toEqual({ known_from_seq: 8 })
  expect(started).toEqual([aStart])
})

test('an agent starts nothing', async () => {
  const { tell, started } = aNode('agent')
  await expect(tell('replicaStart', aStart)).rejects.toMatchObject({ code: 'conflict' })
  expect(started).toEqual([])
})

test('a shutdown is acknowledged and passed on with its reason', async () => {
  const { tell, reasons } = aNode('backend')
  expect(await tell('nodeShutdown', { reason: 'removed by an admin' })).toEqual({})
  expect(reasons).toEqual(['removed by an admin'])
})
