import { partText, planText } from '../load/mix-text.ts'
import { notesOn } from '../notes.ts'
import type { BenchReport, Figures } from '../report.ts'
import { countText, rateText, shareText, timeText } from '../time-text.ts'
import { balances } from './balances.ts'
import { escape } from './escape.ts'
import { plots } from './plots.ts'
import { STYLE } from './style.ts'
import { errorTable, requestTable, timeTable } from './tables.ts'

/** The whole report as one file: no script, nothing from elsewhere, light or dark as its reader likes. */
export function renderPage(report: BenchReport): string {
  const { plan, models } = report
  const names = models.map(({ model }) => model).join(', ')
  const policy = `default-src 'none'; style-src 'unsafe-inline'`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<title>${escape(names)}: flotilla bench</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<header>
<h1>${escape(names)}</h1>
<p class="sub">${escape(report.url)}, ${escape(planText(plan))}</p>
<ul class="parts">${plan.parts.map((part) => `<li>${escape(partText(part))}</li>`).join('')}</ul>
</header>
${cards(report.all)}
${warnings(report)}
${errorTable(report)}
<div class="plots">
${plots(report)}
${balances(report)}
</div>
<section><h2>Requests</h2>${requestTable(report)}</section>
<section><h2>Times</h2><p class="hint">First token and whole answer from when a request was due.</p>${timeTable(report)}</section>
<footer>${escape(plainNotes(report))} flotilla bench ${escape(report.version)}, ${escape(report.started_at)}. It took ${countText(Math.round(report.elapsed_s))} s until the last answer, with at most ${countText(report.driver.most_in_flight)} requests in flight; this program used ${shareText(report.driver.cpu_share)} of a core.</footer>
</main>
</body>
</html>
`
}

function warnings(report: BenchReport): string {
  const items = notesOn(report).flatMap(({ text, isWarning }) => (isWarning ? [`<li>${escape(text)}</li>`] : []))
  return items.length === 0 ? '' : `<ul class="warnings">${items.join('')}</ul>`
}

function plainNotes(report: BenchReport): string {
  return notesOn(report)
    .flatMap(({ text, isWarning }) => (isWarning ? [] : [text]))
    .join(' ')
}

function cards(all: Figures): string {
  const { answered, due, failed, not_sent: notSent, cut, empty } = all.requests
  const lost = failed + notSent
  const first = all.first_token_ms
  const shown = [
    card(rateText(all.answered_per_s), 'answers a second', `${countText(answered)} of ${countText(due)} that were due`),
    card(rateText(all.tokens_out_per_s), 'tokens out a second', `${rateText(all.tokens_in_per_s)} in`),
    ...(first.count > 0
      ? [card(timeText(first.p50), 'to the first token (median)', `99 % within ${timeText(first.p99)}`)]
      : []),
    card(timeText(all.whole_ms.p50), 'to the whole answer (median)', `99 % within ${timeText(all.whole_ms.p99)}`),
    card(countText(lost), 'failed or not sent', `${countText(cut)} cut, ${countText(empty)} empty`, lost > 0),
  ]
  return `<div class="cards">${shown.join('')}</div>`
}

function card(figure: string, what: string, more: string, isBad = false): string {
  return `<div class="card${isBad ? ' bad' : ''}"><b>${figure}</b><div>${what}</div><small>${more}</small></div>`
}
