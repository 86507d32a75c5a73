import { countText, rateText, shareText, shortTimeText } from '../time-text.ts'
import type { BenchReport } from '../report.ts'
import { legend, linePlot, type LinePlot, type Series } from './line-plot.ts'

/** The lines of one plot are told apart by their colours, of which there are so many. */
const COLOURS = 6

/** All plots over time, and how soon first words come. */
export function plots(report: BenchReport): string {
  return [...timesOverTime(report), ratesOverTime(report), tokensOverTime(report), ...firstTokenShares(report)].join(
    '\n',
  )
}

/** Of more models than this only the medians are drawn. */
const MOST_WITH_TAILS = 3

function timesOverTime({ timeline, models, all }: BenchReport): string[] {
  const drawn = [
    { title: 'Time to the first token', field: 'first_token_ms' },
    { title: 'Time to the whole answer', field: 'whole_ms' },
  ] as const
  return drawn
    .filter(({ field }) => all[field].count > 0)
    .map(({ title, field }) => {
      const series = models.slice(0, COLOURS).flatMap(({ model, over_time: times }, i): Series[] => {
        const name = (what: string): string => (models.length === 1 ? what : `${model}, ${what}`)
        const median = { name: name('median'), colour: i + 1, points: middles(timeline, times[field].p50) }
        const tail = { name: name('95 %'), colour: i + 1, isDashed: true, points: middles(timeline, times[field].p95) }
        return models.length > MOST_WITH_TAILS ? [median] : [median, tail]
      })
      const axes = { x: overTime(timeline), y: { label: '', text: shortTimeText } }
      const hint = 'Counted from when a request was due, at the time it was due.'
      return section(hint, { title: `${title} over time`, ...axes, series })
    })
}

function ratesOverTime({ timeline }: BenchReport): string {
  const perS = (counts: readonly number[]) =>
    middles(
      timeline,
      counts.map((count) => count / timeline.step_s),
    )
  const series: Series[] = [
    { name: 'due', colour: 6, isDashed: true, points: perS(timeline.due) },
    { name: 'answered', colour: 1, points: perS(timeline.answered) },
    ...(timeline.failed.some((count) => count > 0)
      ? [{ name: 'failed or not sent', colour: 5, points: perS(timeline.failed) }]
      : []),
  ]
  const hint = 'Where answers stay below what is due, the cluster falls behind.'
  return section(hint, { title: 'Requests a second', x: overTime(timeline), y: { label: '', text: axisRate }, series })
}

function tokensOverTime({ timeline }: BenchReport): string {
  const points = middles(
    timeline,
    timeline.tokens_out.map((count) => count / timeline.step_s),
  )
  const series = [{ name: 'tokens of answers', colour: 4, points }]
  const hint = 'Those of an answer are counted when it ends.'
  return section(hint, { title: 'Tokens a second', x: overTime(timeline), y: { label: '', text: axisRate }, series })
}

function firstTokenShares({ models }: BenchReport): string[] {
  const series = models
    .slice(0, COLOURS)
    .filter(({ first_token_shares: points }) => points.length > 0)
    .map(({ model, first_token_shares: points }): Series => {
      const rising = points.map(({ ms, share }) => ({ x: ms, y: share }))
      const colour = models.findIndex((one) => one.model === model) + 1
      return { name: model, colour, isStep: true, points: [{ x: rising[0]!.x, y: 0 }, ...rising] }
    })
  if (series.length === 0) return []
  const plot: LinePlot = {
    title: 'How soon the first token comes',
    x: { label: 'time since the request was due', text: shortTimeText, scale: 'log' },
    y: { label: '', text: shareText, includes: [1] },
    series,
  }
  return [section('The share of streamed answers that had begun by then.', plot)]
}

function section(hint: string, plot: LinePlot): string {
  return `<section><h2>${plot.title}</h2><p class="hint">${hint}</p>${linePlot(plot)}${legend(plot.series)}</section>`
}

function overTime({ step_s: stepS, due }: BenchReport['timeline']) {
  return { label: 'seconds since the start', text: countText, includes: [due.length * stepS], isTight: true }
}

/** A piece of time is drawn at its middle. */
function middles({ step_s: stepS }: BenchReport['timeline'], values: readonly (number | null)[]): Series['points'] {
  return values.map((y, i) => ({ x: (i + 0.5) * stepS, y }))
}

/** On an axis the figures are round: no digits that say nothing. */
function axisRate(perS: number): string {
  return rateText(perS).replace(/\.0+$/, '')
}
