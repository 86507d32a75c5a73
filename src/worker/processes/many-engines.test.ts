import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { systemClock } from '../../platform/run/clock.ts'
import { until } from '../../../test/support/until.ts'
import { adoptEngine } from './adopt-engine.ts'
import type { EngineProcess } from './engine-process.ts'
import { isRunning } from './process-identity.ts'
import { quickly, startShell } from './testing/an-engine.ts'
import { enginesFolder, expectNothingLeft, leftOver } from './testing/left-over.ts'

const characters = [
  'exec sleep 600',
  `trap '' TERM; while :; do sleep 0.05; done`,
  'sleep 600 & setsid sleep 601 & exec sleep 602',
  'while :; do echo noise; done',
]
const deeds = ['keep', 'keep', 'stop', 'kill', 'hand over', 'hand over and stop'] as const

test('of fifty engines, started and ended in any way at the same time, exactly those run that should', async () => {
  const life = fc.record({
    script: fc.constantFrom(...characters),
    deed: fc.constantFrom(...deeds),
    afterMs: fc.integer({ min: 0, max: 300 }),
  })
  const lives = fc.array(life, { minLength: 25, maxLength: 25 })
  await fc.assert(fc.asyncProperty(lives, checkThatExactlyThoseRun), { numRuns: 2, endOnFailure: true })
}, 120_000)

async function checkThatExactlyThoseRun(
  lives: readonly { script: string; deed: (typeof deeds)[number]; afterMs: number }[],
): Promise<void> {
  const folder = enginesFolder()
  const engines = await Promise.all(
    lives.map(async ({ script, deed, afterMs }, index) => {
      const { engine } = await startShell(script, { folder, name: `e${index}` })
      await new Promise((resolve) => setTimeout(resolve, afterMs))
      return { engine: await done(engine, deed, join(folder, `e${index}`)), isWanted: /^(keep|hand over)$/.test(deed) }
    }),
  )
  const wanted = engines.filter(({ isWanted }) => isWanted).map(({ engine }) => engine)
  const leaders = new Set(engines.map(({ engine }) => engine.identity.pid))
  const living = leftOver(folder).filter((pid) => leaders.has(pid))
  expect(new Set(living)).toEqual(new Set(wanted.map(({ identity }) => identity.pid)))
  expect(wanted.every(({ identity }) => isRunning(identity))).toBe(true)
  await Promise.all(wanted.map((engine) => engine.stop(quickly)))
  await expectNothingLeft(folder)
}

async function done(engine: EngineProcess, deed: (typeof deeds)[number], folder: string): Promise<EngineProcess> {
  if (deed === 'stop') await engine.stop(quickly)
  if (deed === 'kill') {
    process.kill(engine.identity.pid, 'SIGKILL')
    await engine.exited
    await until(() => !isRunning(engine.identity))
  }
  if (!deed.startsWith('hand over')) return engine
  engine.leave()
  const adopted = adoptEngine(engine.identity, folder, { clock: systemClock, onLine: () => {} })!
  if (deed.endsWith('stop')) await adopted.stop(quickly)
  return adopted
}
