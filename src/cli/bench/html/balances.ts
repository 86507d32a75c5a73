import type { Balance } from '../load/balance.ts'
import type { BenchReport } from '../report.ts'
import { countText, shareText } from '../time-text.ts'
import { escape } from './escape.ts'

/** More bars than this are unreadable. */
const MOST_BARS = 60

/** The share of each replica, as bars. */
export function balances({ models }: BenchReport): string {
  const all = models.map(({ model, balance }) => `<h3>${escape(model)}</h3>${bars(balance)}`)
  return `<section><h2>Answered by</h2>${all.join('')}</section>`
}

function bars(balance: Balance): string {
  if (!balance.known) return `<p class="hint">Not known: ${escape(balance.why)}.</p>`
  const { replicas, from } = balance
  const sum = replicas.reduce((total, { answers }) => total + answers, 0)
  const most = replicas[0]?.answers ?? 1
  const rows = replicas.slice(0, MOST_BARS).map(({ replica, node, answers }) => {
    const width = ((100 * answers) / most).toFixed(1)
    return (
      `<span class="name">${escape(node === '' ? replica : `${replica} on ${node}`)}</span>` +
      `<div class="track"><div class="fill" style="width:${width}%"></div></div>` +
      `<span class="figure">${countText(answers)} · ${shareText(answers / sum)}</span>`
    )
  })
  const hidden = replicas.length - MOST_BARS
  const more = hidden > 0 ? `<p class="hint">and ${countText(hidden)} more replicas</p>` : ''
  const sample = from === 'a sample' ? `<p class="hint">A sample of ${countText(sum)} of its last answers.</p>` : ''
  return `${sample}<div class="bars">${rows.join('')}</div>${more}`
}
