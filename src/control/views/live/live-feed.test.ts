import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { LiveMessage } from '../../../api/admin/live-schemas.ts'
import { silentLogger } from '../../../platform/run/log.ts'
import { openDatabase } from '../../../store/database.ts'
import { toModel } from '../../api/nouns/models/models.ts'
import { saveModel } from '../../../store/nouns/models.ts'
import { FakeResponse } from '../../../../test/support/http/fake-response.ts'
import { tempFolder } from '../../../../test/support/temp-folder.ts'
import { until } from '../../../../test/support/until.ts'
import { VirtualClock } from '../../../../test/support/virtual-clock.ts'
import { Traffic } from '../../routing/traffic.ts'
import { startLiveFeed } from './live-feed.ts'

async function aFeed() {
  const db = await openDatabase({ file: join(tempFolder(), 'flotilla.db') })
  onTestFinished(() => db.close())
  const clock = new VirtualClock(Date.UTC(2026, 0, 1))
  let looks = 0
  const heard = {
    inFlightOf: () => 0,
    waitingFor: () => 0,
    traffic() {
      looks += 1
      return new Traffic(clock).view()
    },
  }
  const feed = startLiveFeed({
    db,
    clock,
    log: silentLogger,
    placement: 'spread',
    heard,
    conditions: { problems: () => [] },
  })
  onTestFinished(() => feed.dispose())
  const watch = async (reads = true): Promise<FakeResponse> => {
    const response = new FakeResponse()
    response.reads = reads
    await feed.stream(response as never)
    return response
  }
  /** Time passes while the store, which has its own, is given some. */
  const pass = async (ms: number): Promise<void> => {
    await clock.advance(ms)
    await new Promise((resolve) => setTimeout(resolve, 20))
    await clock.advance(0)
  }
  /** A look that had begun before a change does not see it: the next one does. */
  const passUntil = (condition: () => boolean): Promise<void> =>
    until(async () => {
      await pass(1000)
      return condition()
    })
  const save = (name: string, text = '') =>
    db.transaction((tx) => saveModel(tx, toModel({ name, engine: 'sim', options: { text } })))
  return { db, feed, watch, pass, passUntil, save, clock, looks: () => looks }
}

describe('a frontend', () => {
  test('reads the store while it has readers and not otherwise', async () => {
    const { watch, pass, looks } = await aFeed()
    await pass(10_000)
    expect(looks()).toBe(0)
    const reader = await watch()
    await pass(0)
    await until(() => reader.messages() === 1)
    for (let i = 0; i < 5; i += 1) await pass(1000)
    const watched = looks()
    expect(watched).toBeGreaterThanOrEqual(3)
    reader.destroy()
    for (let i = 0; i < 5; i += 1) await pass(1000)
    expect(looks()).toBeLessThanOrEqual(watched + 1)
  })

  test('looks at most four times a second, however much happens', async () => {
    const { feed, watch, pass, looks } = await aFeed()
    const reader = await watch()
    await pass(0)
    await until(() => reader.messages() === 1)
    await pass(1000)
    const before = looks()
    for (let i = 0; i < 100; i += 1) {
      feed.wake()
      feed.wake()
      await pass(20)
    }
    const count = looks() - before
    expect(count).toBeGreaterThanOrEqual(6)
    expect(count).toBeLessThanOrEqual(10)
  })
})

describe('a reader', () => {
  test('hears that the store cannot be read, and keeps what it has seen', async () => {
    const { db, watch, pass, passUntil, save } = await aFeed()
    await save('a')
    const reader = await watch()
    await pass(0)
    await until(() => reader.messages() === 1)
    await db.close()
    await passUntil(() => reader.messages() === 2)
    const message = JSON.parse(
      reader.text
        .split('\n\n')
        .at(-2)!
        .replace(/^data: /, ''),
    ) as LiveMessage
    expect(message).toMatchObject({
      models: { gone: [] },
      problems: [{ kind: 'store', text: expect.stringContaining('The store cannot be read') as string }],
    })
  })

  test('that joins others is sent everything at once, and hears the same as they from then on', async () => {
    const { watch, pass, passUntil, save } = await aFeed()
    await save('a')
    const first = await watch()
    await pass(0)
    await until(() => first.messages() === 1)
    const second = await watch()
    expect(second.messages()).toBe(1)
    await save('b')
    await passUntil(() => first.messages() === 2 && second.messages() === 2)
    expect(second.text.split('\n\n').at(-2)).toBe(first.text.split('\n\n').at(-2))
  })

  test('that does not read is dropped, and the others are not', async () => {
    const { watch, pass, passUntil, save } = await aFeed()
    await save('a', 'x'.repeat(100_000))
    const [deaf, good] = [await watch(false), await watch()]
    await pass(0)
    await until(() => good.messages() === 1)
    expect(deaf.destroyed).toBe(false)
    for (let i = 0; i < 20 && !deaf.destroyed; i += 1) {
      await save(`b${i}`, 'x'.repeat(100_000))
      await passUntil(() => good.text.includes(`"name":"b${i}"`))
    }
    expect([deaf.destroyed, good.destroyed]).toEqual([true, false])
  })

  test('hears a word every 15 s when nothing changes', async () => {
    const { watch, pass, clock } = await aFeed()
    const reader = await watch()
    await pass(0)
    await until(() => reader.messages() === 1)
    await clock.advance(15_000)
    expect(reader.text).toContain(': still here')
    expect(reader.messages()).toBe(1)
  })

  test('beyond the hundredth is refused until another goes', async () => {
    const { watch } = await aFeed()
    const readers = await Promise.all(Array.from({ length: 100 }, () => watch()))
    await expect(watch()).rejects.toMatchObject({ code: 'busy', retryAfterS: 10 })
    readers[0]!.destroy()
    expect((await watch()).destroyed).toBe(false)
  })
})

test('at the end all are let go and none is taken', async () => {
  const { feed, watch, pass } = await aFeed()
  const reader = await watch()
  await pass(0)
  await feed.dispose()
  expect(reader.writableEnded).toBe(true)
  await expect(watch()).rejects.toMatchObject({ code: 'unavailable' })
})
