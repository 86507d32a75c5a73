import { EventEmitter } from 'node:events'
import type { Worker } from 'node:cluster'
import { expect, test } from 'vitest'
import { Children } from './gateway-processes.ts'
import { silentLogger } from '../../platform/run/log.ts'
import { VirtualClock } from '../../../test/support/virtual-clock.ts'

class FakeChild extends EventEmitter {
  readonly slot: number
  readonly told: unknown[] = []
  readonly process = { kill: () => this.emit('exit', null, 'SIGKILL') }

  constructor(slot: number) {
    super()
    this.slot = slot
  }

  isConnected(): boolean {
    return true
  }

  send(message: unknown): void {
    this.told.push(message)
  }

  serve(): void {
    this.emit('message', { serving: { url: 'http://x' } })
  }
}

function someChildren() {
  const clock = new VirtualClock()
  const started: FakeChild[] = []
  const mistakes: string[] = []
  const fork = (slot: number): Worker => {
    const child = new FakeChild(slot)
    started.push(child)
    return child as unknown as Worker
  }
  const children = new Children({ fork, clock, log: silentLogger, onMistake: () => mistakes.push('mistake') })
  return { clock, started, mistakes, children, last: () => started.at(-1)! }
}

test('a child serves when it says so', async () => {
  const { children, last } = someChildren()
  const serving = children.start(1)
  last().serve()
  expect(await serving).toEqual({ url: 'http://x' })
})

test('one that dies is started again in its place, later each time it dies at once', async () => {
  const { clock, started, children, last } = someChildren()
  void children.start(3)
  const delays: number[] = []
  for (let i = 0; i < 9; i += 1) {
    last().serve()
    last().emit('exit', 1, null)
    const [before, diedMs] = [started.length, clock.nowMs()]
    while (started.length === before) await clock.advance(100)
    delays.push(clock.nowMs() - diedMs)
  }
  expect(delays).toEqual([200, 400, 800, 1600, 3200, 6400, 10_000, 10_000, 10_000])
  expect(new Set(started.map(({ slot }) => slot))).toEqual(new Set([3]))
  await clock.advance(60_000)
  last().emit('exit', null, 'SIGSEGV')
  await clock.advance(200)
  expect(started).toHaveLength(11)
})

test('a mistake ends all before any has served, and is a death like others afterwards', async () => {
  const { clock, started, mistakes, children, last } = someChildren()
  void children.start(1)
  last().emit('exit', 2, null)
  await clock.advance(60_000)
  expect([mistakes, started.length]).toEqual([['mistake'], 1])
  void children.start(1)
  last().serve()
  last().emit('exit', 2, null)
  await clock.advance(200)
  expect([mistakes.length, started.length]).toEqual([1, 3])
})

test('told to end, all end in their own time, and none is started again', async () => {
  const { clock, started, children } = someChildren()
  for (const slot of [1, 2, 3]) void children.start(slot)
  started[2]!.emit('exit', 1, null)
  let isOver = false
  const over = children.end(5000).then(() => (isOver = true))
  expect(started.map(({ told }) => told)).toEqual([['end'], ['end'], []])
  started[0]!.emit('exit', 0, null)
  await clock.advance(1000)
  expect(isOver).toBe(false)
  started[1]!.emit('exit', 0, null)
  await over
  await clock.advance(60_000)
  expect(started).toHaveLength(3)
})

test('one that does not end is killed', async () => {
  const { clock, children } = someChildren()
  void children.start(1)
  const over = children.end(5000)
  await clock.advance(5000)
  await expect(over).resolves.toBeUndefined()
})
