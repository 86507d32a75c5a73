import { realpathSync } from 'node:fs'
import { expect, test } from 'vitest'
import { systemClock } from '../../platform/run/clock.ts'
import { until } from '../../../test/support/until.ts'
import { WORKER_VARIABLE, workerMark } from './engine-mark.ts'
import { isRunning } from './process-identity.ts'
import { quickly, startShell } from './testing/an-engine.ts'
import { enginesFolder } from './testing/left-over.ts'
import { endUnknownEngines } from './unknown-engines.ts'

const running = 'echo up; exec sleep 600'

test('engines of this worker that its journal does not know are ended, all others run on', async () => {
  const [ours, others] = [enginesFolder(), enginesFolder()]
  const mark = workerMark('a key', ours)
  const of = (folder: string) => ({ env: { [WORKER_VARIABLE]: workerMark('a key', folder) } })
  const known = await startShell(running, { folder: ours, name: 'known', ...of(ours) })
  const lost = await startShell(`setsid sleep 601 & ${running}`, { folder: ours, name: 'lost', ...of(ours) })
  const elsewhere = await startShell(running, { folder: others, ...of(others) })
  const all = [known, lost, elsewhere]
  await until(() => all.every(({ lines }) => lines.length > 0))
  expect(await endUnknownEngines(mark, new Set([known.engine.identity.mark]), systemClock)).toBe(1)
  expect(all.map(({ engine }) => isRunning(engine.identity))).toEqual([true, false, true])
  expect(await endUnknownEngines(mark, new Set([known.engine.identity.mark]), systemClock)).toBe(0)
  await Promise.all([known, elsewhere].map(({ engine }) => engine.stop(quickly)))
})

test('a mark names one worker: its key and its folder, however the path is written', () => {
  const folder = enginesFolder()
  expect(workerMark('a key', `${folder}/../${folder.split('/').pop()}`)).toBe(workerMark('a key', realpathSync(folder)))
  expect(workerMark('another key', folder)).not.toBe(workerMark('a key', folder))
  expect(workerMark('a key', enginesFolder())).not.toBe(workerMark('a key', folder))
})
