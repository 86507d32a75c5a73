import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { Logger } from '../../platform/run/log.ts'
import { openDatabase } from '../../store/database.ts'
import { aHeartbeat } from '../../../test/support/builders.ts'
import { ControlBus } from '../../../test/support/control/control-bus.ts'
import { anApplicant, ControlScene } from '../../../test/support/control/control-scene.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { VirtualClock } from '../../../test/support/virtual-clock.ts'
import { OtherRuns } from './other-runs.ts'

test('a run that does not count is told to ask a frontend, and people of it once a minute', async () => {
  const db = await openDatabase({ file: join(tempFolder(), 'flotilla.db') })
  const scene = await ControlScene.start(db, { autoApprove: true })
  onTestFinished(async () => {
    await scene.end()
    await db.close()
  })
  const node = { ...anApplicant('thor'), run: 'run1' }
  await scene.register(node)
  const bus = new ControlBus()
  const clock = new VirtualClock(1_700_000_000_000)
  const lines: string[] = []
  const log = { warn: (_fields: object, text: string) => void lines.push(text) } as unknown as Logger
  const runs = new OtherRuns({ db, bus: bus.of('it'), clock, log, clusterId: 'c' })
  const ignored = (run_id?: string) => [{ nodeId: node.nodeId, heartbeat: aHeartbeat(run_id ? { run_id } : {}) }]
  await runs.look([...ignored('run1'), ...ignored()])
  await runs.look([{ nodeId: 'unknown', heartbeat: aHeartbeat({ run_id: 'run9' }) }])
  expect([bus.said, lines]).toEqual([[], []])
  for (let i = 0; i < 120; i += 1) {
    await runs.look(ignored('run2'))
    await clock.advance(500)
  }
  expect(bus.said.length).toBe(12)
  expect(bus.said[0]).toMatchObject({ name: 'nodeUnknown', message: { cluster_id: 'c' } })
  expect(lines).toEqual([
    'control: heartbeats of a second process with the key of thor are ignored: thor is connected from 127.0.0.1:9090',
  ])
})
