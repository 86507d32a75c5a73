import { describe, expect, test } from 'vitest'
import type { LiveMessage, LiveModel, Traffic } from '../../api/admin/live-schemas.ts'
import { AppError } from '../../platform/errors.ts'
import { aNodeView, aReplicaView } from '../../../test/support/cli/cli.ts'
import { aModelView } from '../../../test/support/cli/cli-views.ts'
import { until } from '../../../test/support/until.ts'
import { VirtualClock } from '../../../test/support/virtual-clock.ts'
import type { Client } from '../client.ts'
import { painter } from '../terminal/style.ts'
import { widthOf } from '../terminal/text-width.ts'
import { LivePicture } from './live-picture.ts'
import { renderTop } from './render-top.ts'
import { readSort, sortAfter } from './sort.ts'
import { top } from './top.ts'

const nothing = { set: [], patch: {}, gone: [] }
const someTraffic: Traffic = { rate: 4.2, error_rate: 0.1, latency_ms: 1234, first_byte_ms: 87, history: [0, 1, 4] }

function aModel(name: string, fields: Partial<LiveModel> = {}): LiveModel {
  return { ...aModelView({ name }), wanted: 1, in_flight: 2, waiting: 3, ...fields }
}

function aMessage(fields: Partial<LiveMessage> = {}): LiveMessage {
  return {
    is_snapshot: true,
    at: 1_700_000_000_000,
    nodes: { ...nothing, set: [aNodeView({ id: 'n1', name: 'gpu-1', in_flight_count: 2 })] },
    replicas: { ...nothing, set: [aReplicaView({ id: 'r1', node_id: 'n1', model_name: 'm', state: 'ready' })] },
    models: { ...nothing, set: [aModel('m'), aModel('idle', { in_flight: 0 })] },
    rules: nothing,
    problems: [],
    traffic: { cluster: someTraffic, models: { m: someTraffic }, replicas: { r1: 4.2 } },
    newest_event: 1,
    ...fields,
  }
}

const view = { nowMs: 0, width: 80, paint: painter(false), sameCluster: '' }
const rendered = (picture: LivePicture, rows = 24): string[] =>
  renderTop({ picture, sort: readSort(undefined), rows, footer: 'q quit' }, view)

describe('a screen of top', () => {
  test('shows nodes with their devices, models and rates, in 80 columns', () => {
    const picture = new LivePicture()
    picture.take(aMessage())
    const lines = rendered(picture)
    expect(lines[0]).toMatch(/^1 node, 2 models, 1 of 1 replica ready +\d\d:\d\d:\d\d$/)
    expect(lines[1]).toBe('4.2 requests/s, 0.1 failed/s, first token 87 ms, whole 1.2 s  ▁▃█')
    expect(lines).toContain('gpu-1  healthy         1     2    4.2  gpu 0   [##..........] 5.8/24')
    expect(lines.join('\n')).toMatch(/^m +\w+ +\d\/1 +2 +3 +4\.2 +0\.1 +87 ms +1\.2 s$/m)
    expect(lines.at(-1)).toBe('q quit')
    for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(80)
  })

  test('is no higher than the terminal, and says how much is not shown', () => {
    const picture = new LivePicture()
    const set = Array.from({ length: 50 }, (_, i) => aNodeView({ id: `n${i}`, name: `node-${i}` }))
    picture.take(aMessage({ nodes: { ...nothing, set } }))
    const lines = rendered(picture)
    expect(lines.length).toBeLessThanOrEqual(24)
    expect(lines.join('\n')).toMatch(/… \d+ more lines of nodes/)
  })

  test('follows what changes, and begins anew with each connection', () => {
    const picture = new LivePicture()
    picture.take(aMessage())
    const patch = { n1: { in_flight_count: 7 }, unknown: { name: 'x' } }
    picture.take(
      aMessage({
        is_snapshot: false,
        nodes: { ...nothing, patch },
        models: { ...nothing, gone: ['idle'] },
        replicas: nothing,
        problems: null,
        traffic: null,
      }),
    )
    expect([...picture.nodes.values()].map((node) => node.in_flight_count)).toEqual([7])
    expect([[...picture.models.keys()], picture.traffic?.cluster.rate]).toEqual([['m'], 4.2])
    picture.take(aMessage({ nodes: nothing }))
    expect([picture.nodes.size, picture.models.size]).toEqual([0, 2])
    expect(() => picture.take({ at: 'x' })).toThrow('is not understood')
  })
})

test('rows are sorted by what was asked for, and keys change that', () => {
  const sort = readSort('name')
  expect(sortAfter(sort, 's')).toEqual({ by: 'rate', isTurned: false })
  expect(sortAfter(sort, 'r')).toEqual({ by: 'name', isTurned: true })
  expect(sortAfter(sort, 'x')).toBeUndefined()
  expect(() => readSort('memry')).toThrow('Try flotilla top --sort memory.')
})

/** A terminal whose screen is a list of frames, at a cluster that says these messages. */
function aPlace(connections: (() => AsyncIterable<{ event: string; data: unknown }>)[], isScreen = true) {
  const frames: string[][] = []
  const printed: string[] = []
  const clock = new VirtualClock(0)
  const keys: ((key: string) => void)[] = []
  let isClosed = false
  const terminal = {
    columns: 80,
    colour: false,
    interactive: isScreen,
    screen: isScreen,
    print: (text: string) => void printed.push(text),
    openScreen: (onKey: (key: string) => void) => {
      keys.push(onKey)
      const draw = (lines: readonly string[]): void => void frames.push([...lines])
      return { columns: () => 80, rows: () => 24, draw, close: () => (isClosed = true) }
    },
  }
  const follow = async () => connections.shift()?.() ?? Promise.reject(new AppError('unavailable', 'Nobody is there.'))
  const client = { api: { follow, nowMs: () => 0 }, terminal, clock, json: false, sameCluster: '' } as unknown as Client
  const given = { values: [], own: new Map<string, string>(), lists: new Map(), rest: undefined }
  const press = (key: string): void => keys[0]!(key)
  return { client, given, frames, printed, clock, press, isClosed: () => isClosed }
}

async function* says(...messages: LiveMessage[]) {
  for (const data of messages) yield { event: 'message', data: data as unknown }
}

test('on a terminal it draws until q, and a frontend that went away is asked again', async () => {
  const place = aPlace([() => says(aMessage()), () => says(aMessage({ nodes: nothing }))])
  const ended = top(place.client, place.given)
  await until(() => place.frames.length > 1)
  expect(place.frames[0]!.join('\n')).toContain('gpu-1')
  place.press('s')
  expect(place.frames.at(-1)!.join('\n')).toContain('sort (now: busy)')
  await until(async () => {
    await place.clock.advance(2000)
    return place.frames.some((lines) => lines.join('\n').includes('There are no nodes yet'))
  })
  await until(async () => {
    await place.clock.advance(2000)
    return place.frames.at(-1)!.join('\n').includes('Nobody is there. Trying again; q quits.')
  })
  place.press('q')
  expect([await ended, place.isClosed()]).toEqual([0, true])
})

test('elsewhere it prints what is now and ends; --json prints it whole', async () => {
  const plain = aPlace([() => says(aMessage())], false)
  expect(await top(plain.client, plain.given)).toBe(0)
  expect(plain.printed.join('\n')).toContain('gpu-1')
  expect(plain.frames).toEqual([])
  const { client, given, printed } = aPlace([() => says(aMessage())])
  await top({ ...client, json: true }, given)
  expect(JSON.parse(printed[0]!)).toMatchObject({
    nodes: [{ name: 'gpu-1' }],
    models: [{ name: 'm' }, { name: 'idle' }],
  })
})
