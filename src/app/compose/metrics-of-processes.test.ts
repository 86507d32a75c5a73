import { expect, test } from 'vitest'
import { prometheusText } from '../../platform/metrics/exposition.ts'
import { Metrics } from '../../platform/metrics/metrics.ts'
import { FigureExchange, isFigureMessage, SiblingFigures, type FigureMessage } from './metrics-of-processes.ts'
import { readExposition } from '../../../test/support/http/exposition.ts'
import { VirtualClock } from '../../../test/support/virtual-clock.ts'

/** Processes that talk as over IPC: what is sent is written as JSON and arrives later. */
function someProcesses(count: number, isSilent: (process: number) => boolean = () => false) {
  const clock = new VirtualClock(0)
  const processes = Array.from({ length: count }, (_, i) => {
    const metrics = new Metrics()
    metrics.counter('requests_total', 'Requests.', ['model']).cell('m').value = 10 ** i
    metrics.histogram('a_seconds', 'Time.', [], [1]).cell().observe(i)
    const child = { send: (message: FigureMessage) => later(message, (copy) => !isSilent(i + 1) && figures.hear(copy)) }
    const send = (message: FigureMessage): void => later(message, (copy) => parent.hear(child, copy))
    const figures: SiblingFigures = new SiblingFigures({ process: i + 1, own: metrics, send, clock })
    return { child, figures }
  })
  const parent = new FigureExchange(clock, () => processes.map(({ child }) => child))
  return { clock, processes }
}

function later(message: FigureMessage, act: (copy: FigureMessage) => void): void {
  const copy: unknown = JSON.parse(JSON.stringify(message))
  queueMicrotask(() => {
    if (isFigureMessage(copy)) act(copy)
  })
}

const valuesIn = (text: string): [string, number][] =>
  readExposition(text, 'prometheus')
    .get('requests_total')!
    .samples.map(({ labels, value }) => [labels['process']!, value])

test('whichever process is asked, the figures of all are shown, each with its process', async () => {
  const { processes } = someProcesses(3)
  for (const { figures } of processes) {
    const text = prometheusText(await figures.collect())
    expect(valuesIn(text)).toEqual([
      ['1', 1],
      ['2', 10],
      ['3', 100],
    ])
    expect(text).toContain('a_seconds_bucket{process="3",le="+Inf"} 1')
  }
})

test('one that does not answer is left out, and without any the own ones are shown', async () => {
  const { clock, processes } = someProcesses(3, (process) => process === 2)
  const asked = processes[0]!.figures.collect()
  await clock.advance(1000)
  expect(valuesIn(prometheusText(await asked)).map(([process]) => process)).toEqual(['1', '3'])
  const alone = someProcesses(1, () => true)
  const own = alone.processes[0]!.figures.collect()
  await alone.clock.advance(2000)
  expect(valuesIn(prometheusText(await own))).toEqual([['1', 1]])
})
