import type { ModelView } from '../../api/admin/model-schemas.ts'
import type { RuleView } from '../../api/admin/rule-schemas.ts'
import type { ReplicaView } from '../../api/admin/schemas.ts'
import { show, viewOf, type Act } from '../client.ts'
import { confirm } from '../terminal/confirm.ts'
import { findNamed } from '../find-one.ts'
import { few, shellWord } from '../terminal/format.ts'
import { plain } from '../terminal/text-width.ts'
import { add } from './add.ts'
import { deleteFiles } from './delete-files.ts'
import { engineHint } from './engine-hint.ts'
import { renderModels } from './list.ts'
import { load } from './load.ts'
import { pull } from './pull.ts'
import { replicasOf } from './replicas-of.ts'
import { renderModel } from './show.ts'
import { set } from './set.ts'
import { unload } from './unload.ts'

const list: Act = async (client) => {
  const { api } = client
  const [models, replicas, rules, nodes] = await Promise.all([
    api.call('listModels'),
    api.call('listReplicas'),
    api.call('listRules'),
    api.call('listNodes'),
  ])
  const json = models.map((model) => ({ ...model, ...belonging(model, replicas, rules) }))
  return show(client, json, () => renderModels({ models, replicas, rules, nodes }, viewOf(client)))
}

const showModel: Act = async (client, { values }) => {
  const { api } = client
  const model = findNamed('model', values[0]!, await api.call('listModels'))
  const [all, rules, nodes] = await Promise.all([
    api.call('listReplicas'),
    api.call('listRules'),
    api.call('listNodes'),
  ])
  const own = belonging(model, all, rules)
  const isWaiting = own.rule !== null && own.rule.min_replicas > own.replicas.length && !client.json
  const hint = isWaiting ? await engineHint(client, model.engine) : []
  const about = { model, ...own, nodes, hint }
  return show(client, { ...model, rule: about.rule, replicas: about.replicas }, () =>
    renderModel(about, viewOf(client)),
  )
}

const remove: Act = async (client, { values, own }) => {
  const { name } = findNamed('model', values[0]!, await client.api.call('listModels'))
  const running = await replicasOf(client, name, await client.api.call('listNodes'))
  if (running.length > 0) {
    const isSure = await confirm(client, own, {
      command: 'models remove',
      deed: `remove ${plain(name)} and stop ${few(running)}`,
      about: `These replicas stop: ${few(running)}.`,
      question: `Remove ${plain(name)}?`,
      otherwise: 'Nothing was removed.',
    })
    if (!isSure) return 1
  }
  const reply = await client.api.call('deleteModel', { name })
  return show(client, reply, () => [
    `${plain(name)} is removed. Its files stay until flotilla models delete.`,
    ...(reply.rule === 'removed' ? ['The rule that was made together with it is removed as well.'] : []),
    ...(reply.rule === 'kept'
      ? [
          `Its rule stays, and waits for a model of that name:`,
          `  flotilla rules remove ${shellWord(name)}${client.sameCluster}`,
        ]
      : []),
  ])
}

export const modelActs = {
  list,
  show: showModel,
  add,
  set,
  pull,
  load,
  unload,
  delete: deleteFiles,
  remove,
} satisfies Record<string, Act>

function belonging(
  { name }: ModelView,
  replicas: readonly ReplicaView[],
  rules: readonly RuleView[],
): { rule: RuleView | null; replicas: ReplicaView[] } {
  return {
    rule: rules.find(({ model_name: of }) => of === name) ?? null,
    replicas: replicas.filter((replica) => replica.model_name === name),
  }
}
