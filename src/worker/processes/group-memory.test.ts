import { expect, test } from 'vitest'
import { until } from '../../../test/support/until.ts'
import { groupMemory, parseParts, residentMemory } from './group-memory.ts'
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

test('what processes may share counts once, what each has alone is added up', () => {
  const status = 'Name:\tx\nVmRSS:\t  600 kB\nRssAnon:\t  100 kB\nRssFile:\t  300 kB\nRssShmem:\t  200 kB\n'
  expect(parseParts(status)).toEqual({ own: 100 * 1024, file: 300 * 1024, shared: 200 * 1024 })
  expect(parseParts('VmRSS:\t  600 kB\n')).toEqual({ own: 600 * 1024, file: 0, shared: 0 })
  expect(parseParts('Kthread:\t1\n')).toEqual({ own: 0, file: 0, shared: 0 })
  const alone = residentMemory([process.pid])
  expect(alone).toBeGreaterThan(MIB)
  expect(residentMemory([process.pid, process.pid])).toBeLessThan(2 * alone)
  expect(residentMemory([])).toBe(0)
})
