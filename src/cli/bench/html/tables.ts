import type { BenchReport, Figures } from '../report.ts'
import { countText, rateText, timeText } from '../time-text.ts'
import { escape } from './escape.ts'

/** One row a model, and one of all where there are several. */
function rowsOf({ models, all }: BenchReport): { name: string; figures: Figures }[] {
  const rows = models.map((one): { name: string; figures: Figures } => ({ name: one.model, figures: one }))
  return rows.length > 1 ? [...rows, { name: 'all', figures: all }] : rows
}

export function requestTable(report: BenchReport): string {
  const titles = [
    'due',
    'answered',
    'streamed',
    'failed',
    'cut',
    'empty',
    'not sent',
    'answered/s',
    'tokens in/s',
    'tokens out/s',
  ]
  const rows = rowsOf(report).map(({ name, figures }) => {
    const { due, answered, streamed, failed, cut, empty, not_sent: notSent } = figures.requests
    return row(name, [
      cell(countText(due)),
      cell(countText(answered)),
      cell(countText(streamed)),
      ...[failed, cut, empty, notSent].map((count) => cell(countText(count), count > 0)),
      cell(rateText(figures.answered_per_s)),
      cell(rateText(figures.tokens_in_per_s)),
      cell(rateText(figures.tokens_out_per_s)),
    ])
  })
  return tableOf(['model', ...titles], rows)
}

const MEASURES = [
  { title: 'first token', field: 'first_token_ms' },
  { title: 'next token', field: 'inter_token_ms' },
  { title: 'whole answer', field: 'whole_ms' },
] as const

export function timeTable(report: BenchReport): string {
  const rows = MEASURES.flatMap(({ title, field }) =>
    rowsOf(report)
      .filter(({ figures }) => figures[field].count > 0)
      .map(({ name, figures }) => {
        const { mean, p50, p90, p95, p99, max } = figures[field]
        return row(
          `${title}, ${name}`,
          [mean, p50, p90, p95, p99, max].map((ms) => cell(timeText(ms))),
        )
      }),
  )
  return tableOf(['', 'mean', 'p50', 'p90', 'p95', 'p99', 'longest'], rows)
}

/** Nothing where nothing failed. */
export function errorTable({ models, all }: BenchReport): string {
  if (all.errors.length === 0) return ''
  const rows = models.flatMap(({ model, errors }) =>
    errors.map(({ kind, detail, message, count }) =>
      row(model, [cell(countText(count), true), text(`${kind} ${detail}`), text(message)]),
    ),
  )
  return `<section><h2>What failed</h2>${tableOf(['model', 'requests', 'how', 'message'], rows)}</section>`
}

function tableOf(titles: readonly string[], rows: readonly string[]): string {
  const head = titles.map((title) => `<th scope="col">${title}</th>`).join('')
  return `<div class="scroll"><table><thead><tr>${head}</tr></thead><tbody>${rows.join('')}</tbody></table></div>`
}

function row(name: string, cells: readonly string[]): string {
  return `<tr><th scope="row">${escape(name)}</th>${cells.join('')}</tr>`
}

function cell(figure: string, isBad = false): string {
  return `<td${isBad ? ' class="bad"' : ''}>${figure}</td>`
}

function text(words: string): string {
  return `<td class="text">${escape(words.trim())}</td>`
}
