import { expect, test } from 'vitest'
import type { Bus, Responder } from '../../bus/bus.ts'
import type { ReplicaStartMessage } from '../../api/bus/messages.ts'
import { obey, type Obedience } from './handle-commands.ts'

const aStart = { id: 'r', generation: 1, model_name: 'm', replica_index: 0, engine: 'sim', source: null, options: {} }

/** What a node answers to commands, and what it did. */
function aNode({ isAgent = false, hasModel = false } = {}) {
  const responders = new Map<string, Responder<'replicaStart' | 'nodeShutdown'>>()
  const started: ReplicaStartMessage[] = []
  const deleted: string[] = []
  const reasons: string[] = []
  const told: Record<string, (message: { cluster_id?: string }) => void> = {}
  const bus = {
    respond: (name: string, handler: never) => responders.set(name, handler),
    subscribe: (name: string, handler: never) => void (told[name] = handler),
  } as unknown as Bus
  let doubts = 0
  const isOther = (id: string | undefined): boolean => id !== undefined && id !== 'ours'
  const onUnknown = (): void => void (doubts += 1)
  const replicas = {
    supervisor: { start: (spec: ReplicaStartMessage) => started.push(spec), hasModel: () => hasModel },
    engines: { report: () => [] },
    files: {
      async delete(modelName: string) {
        deleted.push(modelName)
        return { files: 2, freedBytes: 10 }
      },
    },
  } as unknown as Obedience['replicas']
  const onShutdown = (reason: string): void => void reasons.push(reason)
  obey(bus, 'n1', { replicas: isAgent ? undefined : replicas, nextSeq: () => 8, onShutdown, onUnknown, isOther })
  const tell = (name: string, message: object): Promise<unknown> => responders.get(name)!(message as never)
  return { tell, told, started, deleted, reasons, doubts: () => doubts }
}

test('a start is answered with the first heartbeat that will tell of it', async () => {
  const { tell, started } = aNode()
  expect(await tell('replicaStart', aStart)).toEqual({ known_from_seq: 8 })
  expect(started).toEqual([aStart])
})

test('an agent starts nothing, and knows no engines', async () => {
  const { tell, started } = aNode({ isAgent: true })
  await expect(tell('replicaStart', aStart)).rejects.toMatchObject({ code: 'conflict' })
  await expect(tell('engineList', {})).rejects.toMatchObject({ code: 'conflict' })
  expect(started).toEqual([])
})

test('the files of a model are deleted, but not under its replicas', async () => {
  const node = aNode()
  expect(await node.tell('modelDelete', { command_id: 'c', model_name: 'm' })).toEqual({ files: 2, freed_bytes: 10 })
  const busy = aNode({ hasModel: true })
  await expect(busy.tell('modelDelete', { command_id: 'c', model_name: 'm' })).rejects.toMatchObject({
    code: 'conflict',
  })
  expect([node.deleted, busy.deleted]).toEqual([['m'], []])
})

test('a shutdown is acknowledged and passed on with its reason', async () => {
  const { tell, reasons } = aNode()
  expect(await tell('nodeShutdown', { reason: 'removed by an admin' })).toEqual({})
  expect(reasons).toEqual(['removed by an admin'])
})

test('a shutdown counts when our cluster or one of the release before says it, and not when another cluster does', async () => {
  const { tell, reasons } = aNode()
  await expect(tell('nodeShutdown', { reason: 'theirs', cluster_id: 'theirs' })).rejects.toMatchObject({
    code: 'other_cluster',
  })
  await tell('nodeShutdown', { reason: 'ours', cluster_id: 'ours' })
  expect(reasons).toEqual(['ours'])
})

test('that control does not know us is heard from our cluster alone', () => {
  const { told, doubts } = aNode()
  told['nodeUnknown']!({ cluster_id: 'theirs' })
  expect(doubts()).toBe(0)
  told['nodeUnknown']!({ cluster_id: 'ours' })
  expect(doubts()).toBe(1)
})
