import type { View } from '../client.ts'
import { table, type Cell, type Column } from '../terminal/table.ts'
import { pad, plain, truncate, widthOf } from '../terminal/text-width.ts'
import { wrap } from '../terminal/wrap.ts'
import type { Balance } from './load/balance.ts'
import { partText, planText } from './load/mix-text.ts'
import { notesOn } from './notes.ts'
import type { BenchReport, Figures, Spread } from './report.ts'
import { countText, rateText, shareText, timeText } from './time-text.ts'

/** The report for a terminal. */
export function renderReport(report: BenchReport, view: View): string[] {
  const { paint, width } = view
  const head = wrap(`${report.url}, ${planText(report.plan)}`, width).map((line) => paint('bold', line))
  const parts = report.plan.parts.flatMap((part) => wrap(partText(part), width - 2).map((line) => `  ${line}`))
  const notes = notesOn(report).flatMap(({ text, isWarning }) =>
    wrap(text, width).map((line) => paint(isWarning ? 'yellow' : 'dim', line)),
  )
  const sections = [
    [...head, ...parts],
    throughput(report, view),
    times(report, view),
    balances(report, view),
    errors(report.all, view),
    notes,
  ]
  return sections.filter((lines) => lines.length > 0).flatMap((lines, i) => (i === 0 ? lines : ['', ...lines]))
}

/** One row a model, and one of all where there are several. */
function rowsOf({ models, all }: BenchReport): { name: string; figures: Figures }[] {
  const rows = models.map((one): { name: string; figures: Figures } => ({ name: plain(one.model), figures: one }))
  return rows.length > 1 ? [...rows, { name: 'all', figures: all }] : rows
}

const right = (title: string): Column => ({ title, align: 'right' })

function throughput(report: BenchReport, { width, paint }: View): string[] {
  const columns: Column[] = [
    { title: 'MODEL', shrink: { to: 8, turn: 1 } },
    ...['DUE', 'ANSWERED', 'FAILED', 'NOT SENT', 'ANSWERS/S', 'TOKENS IN/S', 'TOKENS OUT/S'].map(right),
  ]
  const rows = rowsOf(report).map(({ name, figures }): (Cell | string)[] => {
    const { due, answered, failed, not_sent: notSent } = figures.requests
    return [
      name,
      countText(due),
      countText(answered),
      bad(failed, 'red'),
      bad(notSent, 'yellow'),
      rateText(figures.answered_per_s),
      rateText(figures.tokens_in_per_s),
      rateText(figures.tokens_out_per_s),
    ]
  })
  return table(columns, rows, { width, paint })
}

function bad(count: number, look: 'red' | 'yellow'): Cell {
  return count > 0 ? { text: countText(count), look } : { text: '0' }
}

function times(report: BenchReport, { width, paint }: View): string[] {
  const columns: Column[] = [
    { title: 'TIME TO', shrink: { to: 14, turn: 2 } },
    { title: 'MODEL', shrink: { to: 8, turn: 1 } },
    ...['P50', 'P90', 'P95', 'P99', 'MAX'].map(right),
  ]
  const rows = MEASURES.flatMap(({ title, field }) =>
    rowsOf(report)
      .filter(({ figures }) => figures[field].count > 0)
      .map(({ name, figures }, i) => [i === 0 ? title : '', name, ...quantiles(figures[field])]),
  )
  return rows.length === 0 ? [] : table(columns, rows, { width, paint })
}

const MEASURES = [
  { title: 'first token', field: 'first_token_ms' },
  { title: 'next token', field: 'inter_token_ms' },
  { title: 'whole answer', field: 'whole_ms' },
] as const

function quantiles({ p50, p90, p95, p99, max }: Spread): string[] {
  return [p50, p90, p95, p99, max].map(timeText)
}

/** More replicas than these are told in one line. */
const MOST_BARS = 16
const BAR = 24
const FIGURES = 18

function balances({ models }: BenchReport, view: View): string[] {
  const { width, paint } = view
  const names = models.flatMap(({ balance }) =>
    balance.known ? balance.replicas.slice(0, MOST_BARS).map(placeOf) : [],
  )
  const nameWidth = Math.min(width - BAR - FIGURES - 2, Math.max(0, ...names.map(widthOf)))
  const lines = models.flatMap(({ model, balance }) => balanceLines(plain(model), balance, nameWidth, view))
  return [paint('dim', 'ANSWERED BY'), ...lines]
}

function placeOf({ replica, node }: { replica: string; node: string }): string {
  return plain(node === '' ? replica : `${replica} on ${node}`)
}

function balanceLines(model: string, balance: Balance, nameWidth: number, { width, paint }: View): string[] {
  if (!balance.known) return wrap(`${model}: not known: ${plain(balance.why)}.`, width)
  const { replicas } = balance
  const all = replicas.reduce((sum, { answers }) => sum + answers, 0)
  const bars = replicas.slice(0, MOST_BARS).map((one) => {
    const length = Math.max(1, Math.round((BAR * one.answers) / replicas[0]!.answers))
    const bar = paint('cyan', '█'.repeat(length)) + ' '.repeat(BAR - length)
    const figures = `${countText(one.answers)}  ${pad(shareText(one.answers / all), 5, 'right')}`
    return `${pad(truncate(placeOf(one), nameWidth), nameWidth)}  ${bar}${pad(figures, FIGURES, 'right')}`
  })
  const hidden = replicas.slice(MOST_BARS)
  const rest = hidden.reduce((sum, { answers }) => sum + answers, 0)
  const sample = `${model}: a sample of ${countText(all)} of its last answers`
  return [
    ...bars,
    ...(hidden.length > 0 ? [`and ${countText(hidden.length)} more replicas with ${countText(rest)} answers`] : []),
    ...(balance.from === 'a sample' ? wrap(sample, width).map((line) => paint('dim', line)) : []),
  ]
}

const MOST_ERRORS = 12

function errors({ errors: all }: Figures, { width, paint }: View): string[] {
  if (all.length === 0) return []
  const columns: Column[] = [
    { title: 'FAILED', align: 'right' },
    { title: 'HOW', shrink: { to: 16, turn: 2 } },
    { title: '', shrink: { to: 10, turn: 1 } },
  ]
  const rows = all
    .slice(0, MOST_ERRORS)
    .map(({ kind, detail, message, count }): (Cell | string)[] => [
      { text: countText(count), look: 'red' },
      plain(`${kind} ${detail}`.trim()),
      plain(message),
    ])
  const more = all.length - MOST_ERRORS
  return [...table(columns, rows, { width, paint }), ...(more > 0 ? [`and ${more} more kinds`] : [])]
}
