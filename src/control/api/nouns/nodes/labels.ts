import type { AdminReply } from '../../../../api/admin/routes.ts'
import { labelProblem, type Label } from '../../../../core/nodes/labels.ts'
import { AppError } from '../../../../platform/errors.ts'
import type { Sql } from '../../../../store/sql.ts'
import { deleteLabel, listLabelsOfNode, replaceLabels } from '../../../../store/nouns/labels.ts'
import { slotsOf, type NodeRow } from '../../../../store/nouns/nodes.ts'
import { change, type Tell } from '../../../changes/change.ts'
import { checkLabels } from '../../../joining/registration.ts'
import type { Answers } from '../../answers.ts'
import type { AdminDeps } from '../../deps.ts'
import { neededNode, viewLabels } from '../../../views/node-view.ts'

export function labelAnswers(deps: AdminDeps): Answers<'getLabels' | 'putLabels' | 'patchLabels' | 'deleteLabel'> {
  const view = async (sql: Sql, node: NodeRow): Promise<AdminReply<'getLabels'>> =>
    viewLabels(await listLabelsOfNode(sql, node.id), slotsOf(node))

  return {
    getLabels: async (_body, { id }) => view(deps.db, await neededNode(deps.db, id)),

    putLabels: (body, { id }) =>
      change(deps, async (tx, tell) => {
        const node = await neededNode(tx, id)
        await setAdminLabels(tx, tell, node, body)
        return view(tx, node)
      }),

    patchLabels: (body, { id }) =>
      change(deps, async (tx, tell) => {
        const node = await neededNode(tx, id)
        const before = await listLabelsOfNode(tx, id)
        const labels = new Map(adminLabels(before).map(({ key, value }) => [key, value]))
        for (const [key, value] of Object.entries(body)) {
          if (value !== null) labels.set(key, value)
          else if (!labels.delete(key)) refuseDeclared(node, key, before)
        }
        await setAdminLabels(tx, tell, node, Object.fromEntries(labels))
        return view(tx, node)
      }),

    deleteLabel: (_body, { id, key }) =>
      change(deps, async (tx, tell) => {
        const node = await neededNode(tx, id)
        const labels = await listLabelsOfNode(tx, id)
        if (!adminLabels(labels).some((label) => label.key === key)) {
          refuseDeclared(node, key, labels)
          throw new AppError('not_found', `${node.name} has no label "${key}".`)
        }
        await deleteLabel(tx, id, { key, source: 'admin' })
        await tellLabels(tell, node, [key])
        return view(tx, node)
      }),
  }
}

/** All that an admin has set become these. */
export async function setAdminLabels(
  tx: Sql,
  tell: Tell,
  node: NodeRow,
  labels: Record<string, string>,
): Promise<void> {
  checkLabels('labels', labels)
  const changed = await replaceLabels(tx, node.id, 'admin', new Map(Object.entries(labels)))
  if (changed.length > 0) await tellLabels(tell, node, changed)
}

function tellLabels(tell: Tell, { id, name }: NodeRow, keys: string[]): Promise<void> {
  const reason = `labels of ${name} changed: ${keys.join(', ')}`
  return tell({ action: 'node.labelled', nodeId: id, reason, data: { keys } })
}

/** An admin cannot remove a label that no admin has set: the next registration would bring it back. */
function refuseDeclared({ name }: NodeRow, key: string, labels: readonly Label[]): void {
  const problem = labelProblem(key, '')
  if (problem !== undefined) throw new AppError('bad_request', `labels: ${problem}.`, { details: { param: 'labels' } })
  const declared = labels.find((label) => label.key === key)
  if (!declared) return
  const by = declared.source === 'worker' ? 'its worker declares it' : 'it follows from the machine'
  throw new AppError(
    'conflict',
    `The label "${key}" of ${name} was not set by an admin: ${by}. Set another value over it instead.`,
  )
}

function adminLabels(labels: readonly Label[]): Label[] {
  return labels.filter((label) => label.source === 'admin')
}
