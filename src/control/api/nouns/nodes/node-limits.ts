import { BUDGET_FORMS, parseBudget } from '../../../../core/nodes/budget.ts'
import { AppError } from '../../../../platform/errors.ts'
import type { Sql } from '../../../../store/sql.ts'
import { overrideBudget, overrideSlots, type NodeRow } from '../../../../store/nouns/nodes.ts'
import { change, type Tell } from '../../../changes/change.ts'
import type { Answers } from '../../answers.ts'
import type { AdminDeps } from '../../deps.ts'
import { neededNode, viewOneNode } from '../../../views/node-view.ts'

/** What an admin sets over what a worker declares. It stays until it is taken away, whatever the worker does. */
export function capAnswers(deps: AdminDeps): Answers<'setSlots' | 'resetSlots' | 'setBudget' | 'resetBudget'> {
  const changeNode = (id: string, work: (tx: Sql, tell: Tell, node: NodeRow) => Promise<void>) =>
    change(deps, async (tx, tell) => {
      await work(tx, tell, await neededNode(tx, id))
      return viewOneNode(tx, id)
    })

  return {
    setSlots: ({ value }, { id }) => changeNode(id, (tx, tell, node) => writeSlots(tx, tell, node, value)),
    resetSlots: (_body, { id }) => changeNode(id, (tx, tell, node) => writeSlots(tx, tell, node, null)),

    setBudget: ({ value }, { id }) => {
      const text = String(value).trim()
      if (!parseBudget(text)) {
        throw new AppError('bad_request', `value: "${text.slice(0, 50)}" is no budget: ${BUDGET_FORMS}.`, {
          details: { param: 'value' },
        })
      }
      return changeNode(id, (tx, tell, node) => writeBudget(tx, tell, node, text))
    },

    resetBudget: (_body, { id }) => changeNode(id, (tx, tell, node) => writeBudget(tx, tell, node, null)),
  }
}

/** Null restores what the worker declares. An unchanged value is not written again. */
export async function writeSlots(tx: Sql, tell: Tell, node: NodeRow, value: number | null): Promise<void> {
  if (value !== null) refuseAgent(node, 'slots')
  if (node.max_replicas_override === value) return
  const { id: nodeId, name, max_replicas_per_model: declared } = node
  await overrideSlots(tx, nodeId, value)
  const [action, reason] =
    value === null
      ? ['node.slots_reset', `${name} has the slots its worker declares again: ${declared}`]
      : ['node.slots_set', `${name} has ${value} slots for each model`]
  await tell({ action, nodeId, reason, data: { value: value ?? declared } })
}

export async function writeBudget(tx: Sql, tell: Tell, node: NodeRow, text: string | null): Promise<void> {
  if (text !== null) refuseAgent(node, 'VRAM budget')
  if (node.vram_budget_override === text) return
  const { id: nodeId, name, vram_budget: declared } = node
  await overrideBudget(tx, nodeId, text)
  const [action, reason] =
    text === null
      ? ['node.budget_reset', `${name} has the VRAM budget its worker declares again: ${declared ?? 'none'}`]
      : ['node.budget_set', `replicas on ${name} may use ${text} of its VRAM`]
  await tell({ action, nodeId, reason, data: { value: text ?? declared } })
}

function refuseAgent({ name, node_type: type }: NodeRow, what: string): void {
  if (type === 'agent') throw new AppError('conflict', `${name} is an agent: it runs no replicas and has no ${what}.`)
}
