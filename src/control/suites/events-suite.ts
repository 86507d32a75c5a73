import { describe, expect, onTestFinished, test } from 'vitest'
import type { EventView } from '../../api/admin/schemas.ts'
import { appendEvent, listEvents, pruneEvents } from '../../store/nouns/events.ts'
import { ADMIN_KEY, anApplicant, type ControlScene } from '../../../test/support/control/control-scene.ts'
import { until } from '../../../test/support/until.ts'
import { sceneOn, type OpenStore } from './control-suite.ts'

/** What a reader of the stream has been sent so far. */
interface Reader {
  events: EventView[]
  ids(): number[]
  ended: Promise<void>
  stop(): void
}

async function follow(scene: ControlScene, query = '', headers: Record<string, string> = {}): Promise<Reader> {
  const stop = new AbortController()
  const response = await fetch(`${scene.url}/api/events${query}`, {
    headers: { authorization: `Bearer ${ADMIN_KEY}`, ...headers },
    signal: stop.signal,
  })
  expect(response.headers.get('content-type')).toContain('text/event-stream')
  const events: EventView[] = []
  const read = async (): Promise<void> => {
    let rest = ''
    for await (const text of response.body!.pipeThrough(new TextDecoderStream())) {
      const blocks = (rest + text).split('\n\n')
      rest = blocks.pop()!
      for (const block of blocks) if (!block.startsWith(':')) events.push(parseBlock(block))
    }
  }
  const ended = read().catch(() => {})
  onTestFinished(() => stop.abort())
  return { events, ids: () => events.map(({ id }) => id), ended, stop: () => stop.abort() }
}

function parseBlock(block: string): EventView {
  const fields = Object.fromEntries(block.split('\n').map((line) => line.split(/: (.*)/s, 2))) as Record<string, string>
  const event = JSON.parse(fields['data']!) as EventView
  expect(fields).toMatchObject({ id: String(event.id), event: event.action })
  return event
}

const upTo = (last: number, first = 1): number[] => Array.from({ length: last - first + 1 }, (_, i) => first + i)

/** Events, in order and without gaps; run on each kind of store. */
export function describeEvents(storeName: string, openStore: OpenStore): void {
  describe(`events on ${storeName}`, () => {
    const scene = sceneOn(openStore)
    const stored = () => listEvents(scene().db, 0, 100_000)
    const append = (reason: string) =>
      scene().db.transaction((tx) => appendEvent(tx, { actor: 'control', action: 'test.done', reason }))

    test('readers of a store that went back are told so, whether they were there or come back, and hear what comes then', async () => {
      const base = (await stored()).length
      for (let i = 0; i < 5; i += 1) await append(`${i}`)
      const reader = await follow(scene(), `?after=${base}`)
      await until(() => reader.events.length === 5)
      await scene().db.transaction((tx) => tx.query('delete from events where id > $1', [base + 2]))
      scene().feed.wake()
      await until(() => reader.events.length === 6)
      expect(reader.events.at(-1)).toMatchObject({ id: base + 2, action: 'events.restarted' })
      const late = await follow(scene(), `?after=${base + 5}`)
      await append('anew')
      scene().feed.wake()
      for (const one of [reader, late]) await until(() => one.events.at(-1)?.reason === 'anew')
      expect(reader.ids().map((id) => id - base)).toEqual([1, 2, 3, 4, 5, 2, 3])
      expect(late.ids().map((id) => id - base)).toEqual([2, 3])
    })

    test('readers are told that the store went back although it has passed their number by now', async () => {
      const base = (await stored()).length
      await append('one')
      const reader = await follow(scene(), `?after=${base}`)
      await until(() => reader.events.length === 1)
      scene().feed.restart()
      await until(() => reader.events.length === 2)
      expect(reader.events.at(-1)).toMatchObject({ id: base + 1, action: 'events.restarted' })
    })

    test('every change names its actor, action and reason; a call that changes nothing makes no event', async () => {
      const node = anApplicant()
      await scene().register(node, { labels: { a: 'b' } })
      await scene().register(node, { labels: { a: 'b' } })
      const path = `/api/nodes/${node.nodeId}`
      const steps: [string, string, unknown?][] = [
        ['POST', '/approve'],
        ['POST', '/drain'],
        ['POST', '/drain'],
        ['POST', '/resume'],
        ['PUT', '/labels', { x: 'y' }],
        ['PUT', '/labels', { x: 'y' }],
        ['DELETE', '/labels/x'],
        ['PUT', '/max-replicas-per-model', { value: 3 }],
        ['DELETE', '/max-replicas-per-model'],
        ['DELETE', '/max-replicas-per-model'],
        ['PUT', '/vram-budget', { value: '5%' }],
        ['DELETE', '/vram-budget'],
      ]
      for (const [method, rest, body] of steps) await scene().admin(method, `${path}${rest}`, body)
      await scene().heartbeat(node)
      await scene().register(node, { labels: {}, address: 'elsewhere:1' })
      await scene().register({ ...node, bootId: 'boot2' })
      await scene().signed(node, 'POST', `/api/node/${node.nodeId}/deregister`)
      await scene().admin('DELETE', path)
      const events = (await stored()).filter((event) => event.node_id === node.nodeId)
      expect(events.map(({ actor, action }) => `${actor}: ${action}`)).toEqual([
        'node thor: node.registered',
        'admin: node.approved',
        'admin: node.draining',
        'admin: node.resumed',
        'admin: node.labelled',
        'admin: node.labelled',
        'admin: node.slots_set',
        'admin: node.slots_reset',
        'admin: node.budget_set',
        'admin: node.budget_reset',
        'control: node.online',
        'node thor: node.changed',
        'node thor: node.restarted',
        'node thor: node.deregistered',
        'admin: node.removed',
      ])
      expect(events.every(({ reason }) => reason.includes('thor'))).toBe(true)
      expect(events.find(({ action }) => action === 'node.changed')!.data).toMatchObject({
        changed: ['address', 'labels'],
      })
    })

    test('numbers are without gaps, however many write at once', async () => {
      const first = (await stored()).length
      await Promise.all(Array.from({ length: 40 }, (_, i) => append(`event ${i}`)))
      const events = await stored()
      expect(events.map(({ id }) => id)).toEqual(upTo(first + 40))
      expect(new Set(events.map(({ reason }) => reason)).size).toBe(first + 40)
    })

    test('a change that is undone leaves no event and no gap', async () => {
      const node = anApplicant()
      await scene().register(node)
      await scene().register(anApplicant())
      await append('after')
      const ids = (await stored()).map(({ id }) => id)
      expect(ids).toEqual(upTo(ids.length))
    })

    test('only the newest of the last days are kept, and numbers go on after all have aged', async () => {
      for (let i = 0; i < 8; i += 1) await append(`event ${i}`)
      const newest = (await stored()).at(-1)!.id
      const prune = (most: number, maxAgeMs: number) =>
        scene().db.transaction((tx) => pruneEvents(tx, { most, maxAgeMs }))
      await prune(5, 1_000_000)
      expect((await stored()).map(({ id }) => id)).toEqual(upTo(newest, newest - 4))
      await scene().db.transaction((tx) => tx.query('update events set at = 1'))
      await prune(5, 1_000_000)
      await append('the next')
      expect((await stored()).map(({ id }) => id)).toEqual([newest, newest + 1])
    })

    describe('the history', () => {
      const history = async (query = '') =>
        (await scene().admin<EventView[]>('GET', `/api/events/history${query}`)).body
      const about = (fields: { nodeId?: string; modelName?: string }, reason: string) =>
        scene().db.transaction((tx) => appendEvent(tx, { actor: 'control', action: 'test.done', reason, ...fields }))

      test('is the newest first, in pages', async () => {
        for (let i = 0; i < 7; i += 1) await append(`event ${i}`)
        const all = (await stored()).toReversed()
        expect(await history()).toEqual(all)
        const first = await history('?limit=3')
        expect(first).toEqual(all.slice(0, 3))
        expect(await history(`?limit=3&before=${first.at(-1)!.id}`)).toEqual(all.slice(3, 6))
        expect(await history('?before=1')).toEqual([])
      })

      test('is of one model, one node, or both', async () => {
        await about({ nodeId: 'n1', modelName: 'm' }, 'both')
        await about({ nodeId: 'n1' }, 'node')
        await about({ modelName: "m'; --" }, 'odd')
        await about({ modelName: 'm' }, 'model')
        const reasons = async (query: string) => (await history(query)).map(({ reason }) => reason)
        expect(await reasons('?model_name=m')).toEqual(['model', 'both'])
        expect(await reasons('?node_id=n1')).toEqual(['node', 'both'])
        expect(await reasons('?node_id=n1&model_name=m')).toEqual(['both'])
        expect(await reasons(`?model_name=${encodeURIComponent("m'; --")}`)).toEqual(['odd'])
        expect(await reasons('?model_name=nothing')).toEqual([])
      })

      test.each(['limit=0', 'limit=501', 'before=x', 'before=-1', 'colour=red'])('refuses ?%s', async (query) => {
        expect((await scene().admin('GET', `/api/events/history?${query}`)).status).toBe(400)
      })
    })

    describe('the stream', () => {
      test('sends what is stored, then what happens; without a number only what happens', async () => {
        for (let i = 0; i < 5; i += 1) await append(`event ${i}`)
        const before = (await stored()).length
        const [all, some, live] = [
          await follow(scene(), '?after=0'),
          await follow(scene(), '?after=1', { 'last-event-id': '3' }),
          await follow(scene()),
        ]
        await until(() => all.ids().length === before && some.ids().length === before - 3)
        await append('new')
        scene().feed.wake()
        await until(() => [all, some, live].every(({ events }) => events.at(-1)?.id === before + 1))
        expect(all.ids()).toEqual(upTo(before + 1))
        expect(some.ids()).toEqual(upTo(before + 1, 4))
        expect(live.ids()).toEqual([before + 1])
        expect(live.events[0]).toEqual((await stored()).at(-1))
      })

      test('goes on exactly where a reader stopped, while many write', async () => {
        const stop = new AbortController()
        const writers = [1, 2, 3].map(async (writer) => {
          while (!stop.signal.aborted) await append(`by ${writer}`)
        })
        const seen: EventView[] = []
        const last = (): number => seen.at(-1)?.id ?? 0
        for (let i = 0; i < 4; i += 1) {
          const reader = await follow(scene(), `?after=${last()}`)
          await until(() => reader.events.length >= 3)
          reader.stop()
          seen.push(...reader.events)
        }
        stop.abort()
        await Promise.all(writers)
        const total = (await stored()).length
        const reader = await follow(scene(), '', { 'last-event-id': String(last()) })
        await until(() => (reader.events.at(-1)?.id ?? last()) === total)
        seen.push(...reader.events)
        expect(seen).toEqual(await stored())
      })

      test('is read in pages when much is stored', async () => {
        await scene().db.transaction(async (tx) => {
          for (let i = 0; i < 1200; i += 1) {
            await appendEvent(tx, { actor: 'control', action: 'test.done', reason: 'x'.repeat(200) })
          }
        })
        const total = (await stored()).length
        const reader = await follow(scene(), '?after=0')
        await until(() => reader.events.length >= total)
        expect(reader.ids()).toEqual(upTo(total))
      })

      test('a number that was never given is told so, and starts with what happens now', async () => {
        const reader = await follow(scene(), '?after=999999')
        await append('new')
        scene().feed.wake()
        await until(() => reader.events.length === 2)
        expect(reader.events.map(({ action, reason }) => [action, reason])).toEqual([
          ['events.restarted', expect.stringContaining('went back in time')],
          ['test.done', 'new'],
        ])
      })

      test('sees what another frontend wrote without being woken, and ends when Flotilla does', async () => {
        const reader = await follow(scene())
        await append('elsewhere')
        await until(() => reader.events.length === 1)
        await scene().feed.dispose()
        await reader.ended
        expect(reader.ids()).toHaveLength(1)
      })
    })
  })
}
