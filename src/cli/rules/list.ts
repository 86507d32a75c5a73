import type { RuleView } from '../../api/admin/rule-schemas.ts'
import type { View } from '../client.ts'
import { shellWord } from '../terminal/format.ts'
import { table } from '../terminal/table.ts'
import { plain } from '../terminal/text-width.ts'
import { wrap } from '../terminal/wrap.ts'
import { selectorText, shortCount, stateLooks, waitText } from './rule-text.ts'

const INDENT = '  '
/** Lines of one reason; the rest of it is told by `flotilla rules show`. */
const MOST_LINES = 3

export function renderRules(rules: readonly RuleView[], view: View): string[] {
  if (rules.length === 0) {
    return ['There are no rules: models are loaded by their first request. This makes one:', howToMake(view)]
  }
  const [title, ...rows] = table(
    [
      { title: 'MODEL', shrink: { to: 10, turn: 3 } },
      { title: 'STATE' },
      { title: 'READY', align: 'right' },
      { title: 'REPLICAS' },
      { title: 'NODES', shrink: { to: 8, turn: 2 } },
      { title: 'POLICY', shrink: { to: 6, turn: 1 }, spare: 2 },
      { title: 'SOURCE', spare: 1 },
    ],
    rules.map((rule) => [
      plain(rule.model_name),
      { text: rule.state, look: stateLooks[rule.state] },
      `${rule.ready}/${rule.wanted}`,
      shortCount(rule),
      plain(selectorText(rule)),
      rule.route_policy,
      rule.source,
    ]),
    view,
  )
  return [title!, ...rows.flatMap((row, i) => [row, ...linesBelow(rules[i]!, view)])]
}

function howToMake({ sameCluster }: View): string {
  return `${INDENT}flotilla rules set <model> --min 1${sameCluster}`
}

function linesBelow(rule: RuleView, view: View): string[] {
  const { width, paint, sameCluster } = view
  const text = [waitText(rule, view), rule.reason ?? ''].filter((part) => part !== '').join('; ')
  if (text === '') return []
  const lines = wrap(plain(text), width - INDENT.length, { breakWords: true })
  const more =
    lines.length > MOST_LINES ? [`flotilla rules show ${shellWord(rule.model_name)}${sameCluster} tells more`] : []
  return [
    ...lines.slice(0, MOST_LINES).map((line) => INDENT + paint(stateLooks[rule.state], line)),
    ...more.map((line) => INDENT + line),
  ]
}
