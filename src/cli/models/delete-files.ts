import type { AdminReply } from '../../api/admin/routes.ts'
import { formatBytes } from '../../core/lib/bytes.ts'
import { atNodes, jsonAt, type AtNode } from '../at-nodes.ts'
import { show, type Act } from '../client.ts'
import { confirm } from '../terminal/confirm.ts'
import { notFound } from '../find-one.ts'
import { counted, few } from '../terminal/format.ts'
import { nodesToChange } from '../node-scope.ts'
import { plain } from '../terminal/text-width.ts'
import { replicasOf } from './replicas-of.ts'

/** Deletes the files of a model from nodes. It need not be a model any more: files may be left of one that was removed. */
export const deleteFiles: Act = async (client, given) => {
  const wanted = given.values[0]!
  const nodes = await nodesToChange(client, given)
  const running = await replicasOf(client, wanted, nodes)
  const where = few(nodes.map(({ name }) => plain(name)))
  if (running.length > 0) {
    const isSure = await confirm(client, given.own, {
      command: 'models delete',
      deed: `stop ${few(running)} and delete the files of ${plain(wanted)}`,
      about: `These replicas stop first: ${few(running)}.`,
      question: `Delete the files of ${plain(wanted)} from ${where}?`,
      otherwise: 'Nothing was deleted.',
    })
    if (!isSure) return 1
  }
  const results = await atNodes(nodes, ({ id }) => client.api.call('deleteModelFiles', { id }, { model_name: wanted }))
  const isAll = results.every(({ error }) => !error)
  if (isAll && results.every(({ reply }) => reply!.files === 0)) {
    const models = await client.api.call('listModels')
    if (!models.some(({ name }) => name === wanted)) {
      throw notFound(
        'model',
        wanted,
        models.map(({ name }) => name),
      )
    }
  }
  show(
    client,
    jsonAt(results, (reply) => reply),
    () => results.map((result) => outcome(result, wanted)),
  )
  return isAll ? 0 : 1
}

function outcome({ node, reply, error }: AtNode<AdminReply<'deleteModelFiles'>>, wanted: string): string {
  const name = plain(node.name)
  if (error) return `${name}: ${error.message}`
  if (reply.files === 0) return `${name}: there were no files of ${plain(wanted)}.`
  return `${name}: deleted ${counted(reply.files, 'file')} of ${plain(wanted)}; ${formatBytes(reply.freed_bytes)} are free again.`
}
