import { expect, test } from 'vitest'
import { until } from '../../testing/until.ts'
import { groupMemory } from './group-memory.ts'
import { quickly, startShell } from './testing/an-engine.ts'

const MIB = 1024 * 1024

test('memory is that of all processes of the engine', async () => {
  const hold = (mib: number): string =>
    `${process.execPath} -e 'globalThis.held = Buffer.alloc(${mib * MIB}, 1); process.stdout.write("up\\n"); setInterval(() => {}, 1000)'`
  const { engine, lines } = await startShell(`${hold(100)} & ${hold(50)} & wait`)
  await until(() => lines.length === 2)
  expect(await groupMemory(engine.identity)).toBeGreaterThan(150 * MIB)
  await engine.stop(quickly)
  expect(await groupMemory(engine.identity)).toBe(0)
})
