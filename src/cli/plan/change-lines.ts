import type { PlanChange, PlanView } from '../../api/admin/plan-schemas.ts'
import { printSelector } from '../../core/nodes/selector-text.ts'
import { formatBytes } from '../../core/lib/bytes.ts'
import type { Selector } from '../../core/types.ts'
import type { View } from '../client.ts'
import { counted } from '../terminal/format.ts'
import { sourceText } from '../models/source-text.ts'
import type { Look } from '../terminal/style.ts'
import { plain } from '../terminal/text-width.ts'
import { wrap } from '../terminal/wrap.ts'

/** Of each noun so many are told. */
const MOST_LINES = 50
const INDENT = '  '

const titles: Record<PlanChange['noun'], string> = {
  machine: 'Machines',
  model: 'Models',
  rule: 'Rules',
  node: 'Nodes',
}

/** By noun, each with its fields before and after. Ends with an empty line, if there is anything. */
export function changeLines({ changes, steps }: PlanView, view: View): string[] {
  const { paint } = view
  const nouns = Object.keys(titles) as PlanChange['noun'][]
  return nouns.flatMap((noun) => {
    const mine = changes.filter((change) => change.noun === noun)
    if (mine.length === 0) return []
    const restarts = (name: string): number =>
      steps.filter(({ model_name: of, why }) => of === name && why === 'old revision').length
    const more = mine.length - MOST_LINES
    return [
      paint('bold', titles[noun]),
      ...mine.slice(0, MOST_LINES).flatMap((change) => linesOf(change, restarts(change.name), view)),
      ...(more > 0 ? [`${INDENT}and ${more} more; --json shows all`] : []),
      '',
    ]
  })
}

const marks: Record<PlanChange['action'], { mark: string; look: Look }> = {
  add: { mark: '+', look: 'green' },
  change: { mark: '~', look: 'yellow' },
  remove: { mark: '-', look: 'red' },
}

function linesOf(change: PlanChange, restarts: number, { width, paint }: View): string[] {
  const { mark, look } = marks[change.action]
  const details = [
    ...change.fields.map((field) => fieldText(change, field)),
    ...(change.noun === 'model' && restarts > 0 ? [`${counted(restarts, 'replica')} restarted`] : []),
  ]
  const text = [plain(change.name), ...(details.length === 0 ? [] : [details.map(plain).join(', ')])].join(': ')
  const [first, ...rest] = wrap(text, width - 2 * INDENT.length, { breakWords: true })
  const warning = change.warning === null ? [] : wrap(plain(change.warning), width - 2 * INDENT.length)
  return [
    `${INDENT}${paint(look, mark)} ${first!}`,
    ...rest.map((line) => INDENT + INDENT + line),
    ...warning.map((line) => INDENT + INDENT + paint('yellow', line)),
  ]
}

function fieldText({ action }: PlanChange, { field, before, after }: PlanChange['fields'][number]): string {
  const isSet = action === 'add' || before === null
  return isSet
    ? `${field} ${valueText(field, after)}`
    : `${field} ${valueText(field, before)} → ${valueText(field, after)}`
}

function valueText(field: string, value: unknown): string {
  if (value === null || value === undefined) return 'none'
  if (field === 'source' && typeof value === 'string') return sourceText(value)
  if (field === 'node_selector') return printSelector(value as Selector) || 'any'
  if (field === 'memory') {
    const { vram, ram } = value as { vram: number; ram: number }
    return `${formatBytes(vram)} of VRAM and ${formatBytes(ram)} of RAM`
  }
  return typeof value === 'string' ? value : JSON.stringify(value)
}
