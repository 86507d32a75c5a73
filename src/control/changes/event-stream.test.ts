import { expect, test } from 'vitest'
import type { EventView } from '../../api/admin/schemas.ts'
import { FakeResponse } from '../../../test/support/http/fake-response.ts'
import { VirtualClock } from '../../../test/support/virtual-clock.ts'
import { EventStream } from './event-stream.ts'

function aStream(lastId = 0) {
  const response = new FakeResponse()
  const clock = new VirtualClock()
  return { response, clock, stream: new EventStream(response as never, clock, lastId) }
}

function anEvent(id: number, reason = 'why'): EventView {
  return {
    id,
    at: 1,
    actor: 'admin',
    address: null,
    action: 'test.done',
    node_id: null,
    model_name: null,
    reason,
    data: {},
  }
}

test('each event is three lines, however its text looks', () => {
  const { response, stream } = aStream()
  stream.send([anEvent(1, 'two\nlines')])
  const [, id, event, data] = /id: (\d+)\nevent: (.*)\ndata: (.*)\n\n$/.exec(response.text)!
  expect([id, event, JSON.parse(data!)]).toEqual(['1', 'test.done', anEvent(1, 'two\nlines')])
})

test('what was sent is not sent again', () => {
  const { response, stream } = aStream(2)
  stream.send([anEvent(1), anEvent(2), anEvent(3)])
  stream.send([anEvent(3), anEvent(4)])
  expect(response.text.match(/^id: \d+/gm)).toEqual(['id: 3', 'id: 4'])
})

test('a word is said every 15 s of silence, and none after the end', async () => {
  const { response, stream, clock } = aStream()
  const words = (): number => response.text.match(/still here/g)?.length ?? 0
  await clock.advance(14_000)
  stream.send([anEvent(1)])
  await clock.advance(14_000)
  expect(words()).toBe(0)
  await clock.advance(31_000)
  expect(words()).toBe(3)
  stream.end()
  await clock.advance(60_000)
  expect(words()).toBe(3)
  expect(response.writableEnded).toBe(true)
})

test('a reader that does not read is dropped at 1 MiB', () => {
  const { response, stream } = aStream()
  response.reads = false
  for (let id = 1; id <= 15; id += 1) stream.send([anEvent(id, 'x'.repeat(64 * 1024))])
  expect(response.destroyed).toBe(false)
  stream.send([anEvent(16, 'x'.repeat(64 * 1024))])
  expect(response.destroyed).toBe(true)
})

test('stored events are sent at the pace of the reader; one that takes none for 30 s is dropped', async () => {
  const { response, stream, clock } = aStream()
  expect(await stream.drained()).toBe(true)
  response.reads = false
  stream.send([anEvent(1)])
  const first = stream.drained()
  response.emit('drain')
  expect(await first).toBe(true)
  const second = stream.drained()
  await clock.advance(30_000)
  expect(await second).toBe(false)
  expect(response.destroyed).toBe(true)
})
