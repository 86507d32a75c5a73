import { BUDGET_FORMS, parseBudget } from '../../core/nodes/budget.ts'
import { AppError } from '../../platform/errors.ts'
import type { Sql } from '../../store/database.ts'
import { overrideBudget, overrideSlots, type NodeRow } from '../../store/nodes.ts'
import { change, type Tell } from '../change.ts'
import type { Answers } from './answers.ts'
import type { AdminDeps } from './deps.ts'
import { neededNode, viewOneNode } from './node-view.ts'

/** What an admin sets over what a worker declares. It stays until it is taken away, whatever the worker does. */
export function capAnswers(deps: AdminDeps): Answers<'setSlots' | 'resetSlots' | 'setBudget' | 'resetBudget'> {
  const changeNode = (id: string, work: (tx: Sql, tell: Tell, node: NodeRow) => Promise<void>) =>
    change(deps, async (tx, tell) => {
      await work(tx, tell, await neededNode(tx, id))
      return viewOneNode(tx, id)
    })

  return {
    setSlots: ({ value }, { id }) =>
      changeNode(id, async (tx, tell, node) => {
        refuseAgent(node, 'slots')
        if (node.max_replicas_override === value) return
        await overrideSlots(tx, id, value)
        const reason = `${node.name} has ${value} slots for each model`
        await tell({ actor: 'admin', action: 'node.slots_set', nodeId: id, reason, data: { value } })
      }),

    resetSlots: (_body, { id }) =>
      changeNode(id, async (tx, tell, node) => {
        if (node.max_replicas_override === null) return
        await overrideSlots(tx, id, null)
        const value = node.max_replicas_per_model
        const reason = `${node.name} has the slots its worker declares again: ${value}`
        await tell({ actor: 'admin', action: 'node.slots_reset', nodeId: id, reason, data: { value } })
      }),

    setBudget: ({ value }, { id }) => {
      const text = String(value).trim()
      if (!parseBudget(text)) {
        throw new AppError('bad_request', `value: "${text.slice(0, 50)}" is no budget: ${BUDGET_FORMS}.`, {
          details: { param: 'value' },
        })
      }
      return changeNode(id, async (tx, tell, node) => {
        refuseAgent(node, 'VRAM budget')
        if (node.vram_budget_override === text) return
        await overrideBudget(tx, id, text)
        const reason = `replicas on ${node.name} may use ${text} of its VRAM`
        await tell({ actor: 'admin', action: 'node.budget_set', nodeId: id, reason, data: { value: text } })
      })
    },

    resetBudget: (_body, { id }) =>
      changeNode(id, async (tx, tell, node) => {
        if (node.vram_budget_override === null) return
        await overrideBudget(tx, id, null)
        const value = node.vram_budget
        const reason = `${node.name} has the VRAM budget its worker declares again: ${value ?? 'none'}`
        await tell({ actor: 'admin', action: 'node.budget_reset', nodeId: id, reason, data: { value } })
      }),
  }
}

function refuseAgent({ name, node_type: type }: NodeRow, what: string): void {
  if (type === 'agent') throw new AppError('conflict', `${name} is an agent: it runs no replicas and has no ${what}.`)
}
