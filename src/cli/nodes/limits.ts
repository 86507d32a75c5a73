import type { NodeView } from '../../api/admin/schemas.ts'
import { BUDGET_FORMS, parseBudget } from '../../core/nodes/budget.ts'
import { AppError } from '../../platform/errors.ts'
import { show, type Client } from '../client.ts'
import { plain } from '../terminal/text-width.ts'
import { aboveCapText, budgetText, slotsText } from './capacity.ts'

/** The same as --reset, as in every other command. */
const NONE = 'none'

type Own = ReadonlyMap<string, string>

/** Sets or resets how many replicas of one model a node may run; without a value it shows that. */
export async function slots(client: Client, node: NodeView, value: string | undefined, own: Own): Promise<number> {
  refuseBoth('slots', value, own)
  const changed = await changeSlots(client, node, value, own)
  return show(client, changed, () => [
    ...sentences(`${plain(changed.name)} may run`, slotsText(changed)),
    ...aboveCapText(changed).map((text) => `${text}.`),
  ])
}

async function changeSlots({ api }: Client, node: NodeView, value: string | undefined, own: Own): Promise<NodeView> {
  if (own.has('reset') || value === NONE) return api.call('resetSlots', { id: node.id })
  if (value === undefined) return node
  if (!/^\d{1,9}$/.test(value)) {
    throw new AppError('usage', `flotilla nodes slots: expected a whole number, got "${plain(value)}".`)
  }
  return api.call('setSlots', { id: node.id }, { value: Number(value) })
}

/** Sets or resets how much VRAM replicas may use on a node; without a value it shows that. */
export async function budget(client: Client, node: NodeView, value: string | undefined, own: Own): Promise<number> {
  refuseBoth('budget', value, own)
  const changed = await changeBudget(client, node, value, own)
  return show(client, changed, () => sentences(`Replicas on ${plain(changed.name)} may use`, budgetText(changed)))
}

async function changeBudget({ api }: Client, node: NodeView, value: string | undefined, own: Own): Promise<NodeView> {
  if (own.has('reset') || value === NONE) return api.call('resetBudget', { id: node.id })
  if (value === undefined) return node
  if (!parseBudget(value)) {
    throw new AppError('usage', `flotilla nodes budget: ${BUDGET_FORMS}, got "${plain(value)}".`)
  }
  return api.call('setBudget', { id: node.id }, { value })
}

/** One line a part: all in one would not fit a terminal. */
function sentences(begin: string, [what, source]: readonly string[]): string[] {
  return [`${begin} ${what}.`, ...(source === undefined ? [] : [`${source[0]!.toUpperCase()}${source.slice(1)}.`])]
}

function refuseBoth(what: string, value: string | undefined, own: Own): void {
  if (value !== undefined && own.has('reset')) {
    throw new AppError('usage', `flotilla nodes ${what}: give a value or --reset, not both.`)
  }
}
