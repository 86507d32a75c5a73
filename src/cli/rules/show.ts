import type { RuleView } from '../../api/admin/rule-schemas.ts'
import type { View } from '../client.ts'
import { facts, type Fact } from '../facts.ts'
import { counted, shellWord, span } from '../terminal/format.ts'
import { plain } from '../terminal/text-width.ts'
import { wrap } from '../terminal/wrap.ts'
import { countText, selectorText, waitText } from './rule-text.ts'

/** One rule, what came of it, and why not more. */
export function renderRule(rule: RuleView, view: View): string[] {
  const { width, paint, nowMs, sameCluster } = view
  const about: Fact[] = [
    ['Replicas', countText(rule)],
    ['Nodes', selectorText(rule)],
    ['Routing', rule.route_policy],
    ['Source', rule.source === 'config' ? 'the configuration of a frontend' : 'the API'],
    ['Changed', `${span(nowMs - rule.updated_at)} ago`],
    ['State', [rule.state, waitText(rule, view)].filter((part) => part !== '').join(', ')],
    [
      'Ready',
      `${rule.ready} of ${rule.wanted}; there ${rule.replicas === 1 ? 'is' : 'are'} ${counted(rule.replicas, 'replica')}`,
    ],
    ['Why', ...(rule.reason === null ? [] : [rule.reason])],
    ['Nodes say', ...nodeTexts(rule)],
  ]
  return [
    paint('bold', plain(rule.model_name)),
    ...facts(about, view),
    ...(rule.warning === null ? [] : ['', ...wrap(plain(rule.warning), width).map((line) => paint('yellow', line))]),
    ...(rule.state === 'met'
      ? []
      : ['', `flotilla why ${shellWord(rule.model_name)}${sameCluster} tells where it could run.`]),
  ]
}

function nodeTexts({ last_decision: decision }: RuleView): string[] {
  if (!decision) return []
  const texts = decision.refusals.map(({ node_name: name, text }) => `${name}: ${text}`)
  return decision.more > 0 ? [...texts, `and ${counted(decision.more, 'node')} more`] : texts
}
