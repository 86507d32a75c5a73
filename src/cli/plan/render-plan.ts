import type { PlanStep, PlanView } from '../../api/admin/plan-schemas.ts'
import { formatBytes } from '../../core/lib/bytes.ts'
import type { View } from '../client.ts'
import { counted, few } from '../terminal/format.ts'
import { plain } from '../terminal/text-width.ts'
import { wrap } from '../terminal/wrap.ts'
import { changeLines } from './change-lines.ts'
import { impossibleLines } from './impossible-lines.ts'
import { stepTable } from './step-table.ts'

/** What would change, what would follow, what stays impossible, and all of it in numbers. */
export function renderPlan(plan: PlanView, view: View): string[] {
  const { width, paint } = view
  const section = (title: string, lines: readonly string[]): string[] =>
    lines.length === 0 ? [] : [paint('bold', title), ...lines, '']
  const warn = (text: string): string[] => [...wrap(plain(text), width).map((line) => paint('yellow', line)), '']
  const isMade = plan.changes.length > 0
  return [
    ...changeLines(plan, view),
    ...(isMade ? section('What follows', stepTable(plan.steps, view)) : []),
    ...(isMade && !plan.is_complete ? warn('There is more to do than could be looked at.') : []),
    ...section('What stays impossible', impossibleLines(plan.impossible, view)),
    ...(plan.warnings ?? []).flatMap(warn),
    ...(plan.absent_nodes.length === 0 ? [] : warn(absentText(plan.absent_nodes))),
    ...(plan.frozen_nodes.length === 0 ? [] : warn(frozenText(plan.frozen_nodes))),
    ...(isMade ? summary(plan).flatMap((line) => wrap(line, width)) : ['There is nothing to change.']),
  ]
}

function absentText(names: readonly string[]): string {
  const [is, it, has] = names.length === 1 ? ['is', 'it', 'it has'] : ['are', 'them', 'they have']
  return `${few(names)} ${is} not in the cluster: what is listed for ${it} can be applied once ${has} joined.`
}

function frozenText(names: readonly string[]): string {
  return `${few(names)} together are most of the cluster. Lost at once, they count as a network failure: their replicas are not replaced until an admin runs flotilla nodes accept-loss.`
}

function summary({ changes, steps, moves }: PlanView): string[] {
  const count = (action: string): number => changes.filter((change) => change.action === action).length
  return [
    `${count('add')} to add, ${count('change')} to change, ${count('remove')} to remove.`,
    steps.length === 0 ? 'No replica is started or stopped.' : `${replicasText(steps)}; ${movesText(moves)}.`,
  ]
}

function replicasText(steps: readonly PlanStep[]): string {
  const count = (kind: PlanStep['kind']): number => steps.filter((step) => step.kind === kind).length
  const restarts = steps.filter(({ why }) => why === 'old revision').length
  const texts = [
    says(count('start'), 'starts', 'start'),
    says(count('stop'), 'stops', 'stop') + (restarts === 0 ? '' : ` (${restarts} for a new revision)`),
    says(count('evict'), 'is evicted', 'are evicted'),
    says(count('lost'), 'is lost', 'are lost'),
  ]
  return texts.filter((text) => text !== '').join(', ')
}

function says(count: number, one: string, many: string): string {
  return count === 0 ? '' : `${counted(count, 'replica')} ${count === 1 ? one : many}`
}

function movesText(moves: PlanView['moves']): string {
  if (moves.length === 0) return 'nothing to move'
  const bytes = moves.reduce((sum, move) => sum + move.bytes, 0)
  const unknown = moves.reduce((sum, move) => sum + move.unknown, 0)
  const where = few(moves.map(({ node_name: name }) => plain(name)))
  const known = bytes === 0 ? [] : [formatBytes(bytes)]
  const rest = unknown === 0 ? [] : [`files of unknown size for ${counted(unknown, 'replica')}`]
  return `${[...known, ...rest].join(' and ')} to move to ${where}`
}
