import { expect, test } from 'vitest'
import type { Refusal } from '../../core/placement/types.ts'
import type { Plan } from '../../core/reconcile/plan.ts'
import { VirtualClock } from '../../../test/support/virtual-clock.ts'
import type { ControlEvents } from './narrate.ts'
import { UnmetRules } from './unmet-rules.ts'

function rules() {
  const clock = new VirtualClock()
  const told: string[] = []
  const events = { unmet: (model: string, _missing: number, reasons: string) => told.push(`${model}: ${reasons}`) }
  const unmet = new UnmetRules(clock, events as unknown as ControlEvents)
  const tell = (...all: Plan['unmet']): void => unmet.tell({ unmet: all, untried: [] })
  return { clock, told, tell, pass: (untried: string[]) => unmet.tell({ unmet: [], untried }) }
}

const refusal = (fields: Partial<Refusal>): Refusal => ({
  nodeId: 'n',
  nodeName: 'gpu-1',
  filter: 'engine',
  needed: 'vllm',
  available: 'the program "vllm" is not in PATH',
  where: null,
  ...fields,
})
const unmet = (modelName: string, ...refusals: Refusal[]): Plan['unmet'][number] => ({
  modelName,
  missing: 1,
  refusals,
  advice: [],
  isBusy: false,
})
const waits = unmet('a', refusal({}))

test('a rule that cannot be met is told once, when it lasts, with its reasons', async () => {
  const { clock, told, tell } = rules()
  tell(waits)
  await clock.advance(5000)
  tell(waits)
  await clock.advance(60_000)
  tell(waits)
  expect(told).toEqual(['a: gpu-1: cannot run vllm: the program "vllm" is not in PATH'])
})

test('another rule whose wait counts down does not keep it from being told, and is told once itself', async () => {
  const { clock, told, tell } = rules()
  for (let seconds = 10; seconds >= 0; seconds -= 1) {
    const available = `failed 3 times, next try in ${seconds} s`
    tell(waits, unmet('b', refusal({ filter: 'failing', available })))
    await clock.advance(1000)
  }
  expect(told).toEqual([
    'a: gpu-1: cannot run vllm: the program "vllm" is not in PATH',
    'b: gpu-1: failed 3 times, next try in 5 s',
  ])
})

test('one that was not looked for meanwhile is not told again', async () => {
  const { clock, told, tell, pass } = rules()
  for (let i = 0; i < 5; i += 1) {
    tell(waits)
    await clock.advance(5000)
    pass(['a'])
    await clock.advance(5000)
  }
  expect(told).toHaveLength(1)
})

test('of very many nodes that refuse only some are named', async () => {
  const { clock, told, tell } = rules()
  const many = Array.from({ length: 1000 }, (_, i) => refusal({ nodeId: `n${i}`, nodeName: `gpu-${i}` }))
  tell(unmet('a', ...many))
  await clock.advance(5000)
  tell(unmet('a', ...many))
  expect(told[0]).toMatch(/gpu-19: [^:]*: [^:]*, and 980 more$/)
})

test('one that was met and is not any more is told again', async () => {
  const { clock, told, tell } = rules()
  for (const now of [[waits], [waits], [], [waits], [waits]]) {
    tell(...now)
    await clock.advance(5000)
  }
  expect(told).toHaveLength(2)
})
