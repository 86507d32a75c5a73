import type { RuleView } from '../../../../src/api/admin/rule-schemas.ts'
import type { PillTone } from '../../parts/pill.tsx'

export type RuleMode = 'pin' | 'auto' | 'spread'

type Asked = Pick<RuleView, 'node_selector' | 'min_replicas' | 'max_replicas' | 'spread_all' | 'scale_to_zero_after_s'>

/** What a rule is for. `inactive` asks for nothing at all. */
export function modeOf(rule: Asked): RuleMode | 'inactive' {
  if (rule.spread_all) return 'spread'
  if (rule.min_replicas > 0 || rule.max_replicas > 0 || rule.scale_to_zero_after_s !== null) return 'auto'
  return Object.keys(rule.node_selector ?? {}).length > 0 ? 'pin' : 'inactive'
}

export const modeBadges: Record<ReturnType<typeof modeOf>, { text: string; tone: PillTone }> = {
  spread: { text: 'Spread', tone: 'accent' },
  auto: { text: 'Auto-scaling', tone: 'accent' },
  pin: { text: 'Placement', tone: 'outline' },
  inactive: { text: 'Inactive', tone: 'idle' },
}

export const modeHints: Record<RuleMode, string> = {
  pin: 'Only nodes that match may run it. It is loaded there when somebody asks for it.',
  auto: 'Keeps the minimum running and adds replicas while all are busy, up to the maximum, on the nodes that match.',
  spread: 'One replica on every node that matches, also on those that join later.',
}

export const policyTexts: Record<RuleView['route_policy'], string> = {
  least_loaded: 'Least loaded',
  round_robin: 'Each in turn',
  session: 'Same session, same replica',
}

/** One line for where there is no room for a table. */
export function ruleText(rule: Asked): string {
  const mode = modeOf(rule)
  if (mode === 'spread') return 'One replica on all matching nodes'
  if (mode === 'pin') return 'Loaded when asked for, on matching nodes'
  if (mode === 'inactive') return 'Asks for nothing'
  const { min_replicas: min, max_replicas: max, scale_to_zero_after_s: idleS } = rule
  const most = max === 0 ? 'no upper limit' : `at most ${max}`
  const idle = idleS === null ? '' : `, none after ${idleText(idleS)} without a request`
  return `At least ${min} ${min === 1 ? 'replica' : 'replicas'}, ${most}${idle}`
}

export function idleText(seconds: number): string {
  if (seconds % 3600 === 0) return `${seconds / 3600} h`
  return seconds % 60 === 0 ? `${seconds / 60} min` : `${seconds} s`
}
