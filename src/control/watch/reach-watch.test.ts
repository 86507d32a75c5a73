import { expect, onTestFinished, test } from 'vitest'
import { silentLogger } from '../../platform/run/log.ts'
import { VirtualClock } from '../../../test/support/virtual-clock.ts'
import { Conditions } from './conditions.ts'
import { ReachWatch } from './reach-watch.ts'

const WB = { id: 'n1', name: 'wb', address: '10.99.0.77:23810', aheadMs: 0 }
const REPORT = { node_id: 'n1', node_name: 'wb', address: WB.address, why: 'no connection within 2 s' }

function aWatch() {
  const clock = new VirtualClock(1_000_000)
  const conditions = new Conditions(silentLogger)
  const scene = { why: undefined as string | undefined, asked: 0 }
  const whyUnreachable = async () => {
    scene.asked += 1
    return scene.why
  }
  const watch = new ReachWatch({ conditions, clock, whyUnreachable })
  onTestFinished(() => watch.dispose())
  const problems = () => conditions.problems().map(({ severity, text, node_name: node }) => ({ severity, text, node }))
  return Object.assign(scene, { clock, watch, problems })
}

test('a data port that cannot be reached at registration is a warning, until it can be', async () => {
  const scene = aWatch()
  scene.why = 'nothing listens there'
  scene.watch.seen(WB, 'registered')
  await scene.clock.advance(2000)
  const text = 'This frontend cannot reach the data port of wb at 10.99.0.77:23810: nothing listens there.'
  expect(scene.problems()).toEqual([{ severity: 'warning', text, node: 'wb' }])
  await scene.clock.advance(6000)
  expect(scene.asked).toBe(1)
  scene.why = undefined
  await scene.clock.advance(10_000)
  expect(scene.problems()).toEqual([])
})

test('what gateways report comes before it, with their number, and ends when none reports it', async () => {
  const scene = aWatch()
  scene.why = 'nothing listens there'
  scene.watch.seen(WB, 'registered')
  for (const gateway of ['a', 'b']) scene.watch.hear({ gateway, unreachable: [REPORT] })
  await scene.clock.advance(2000)
  const text = `2 gateways cannot reach wb at ${WB.address}: no connection within 2 s. Requests to it fail or go elsewhere.`
  expect(scene.problems()).toEqual([{ severity: 'error', text, node: 'wb' }])
  scene.watch.seen({ ...WB, address: '10.0.0.2:9090' }, 'registered')
  scene.why = undefined
  scene.watch.hear({ gateway: 'a' })
  await scene.clock.advance(8000)
  await scene.clock.advance(30_000)
  expect(scene.problems()).toEqual([])
})

test('a clock that is off is a warning with the seconds, until the node signs with a better one', () => {
  const { watch, problems } = aWatch()
  watch.seen({ ...WB, aheadMs: -42_300 }, 'signed')
  expect(problems()).toMatchObject([
    { severity: 'warning', text: 'The clock of wb is 42 s behind that of this frontend.', node: 'wb' },
  ])
  watch.seen({ ...WB, aheadMs: 61_000 }, 'signed')
  expect(problems()[0]!.text).toContain('61 s ahead of')
  watch.seen({ ...WB, aheadMs: -4000 }, 'signed')
  expect(problems()).toEqual([])
})
