import { show, viewOf, type Act, type Client } from '../client.ts'
import { notFound } from '../find-one.ts'
import { plain } from '../terminal/text-width.ts'
import { wrap } from '../terminal/wrap.ts'
import type { RuleView } from '../../api/admin/rule-schemas.ts'
import { renderRules } from './list.ts'
import { set } from './set.ts'
import { renderRule } from './show.ts'

const list: Act = async (client) => {
  const rules = await client.api.call('listRules')
  return show(client, rules, () => renderRules(rules, viewOf(client)))
}

const showRule: Act = async (client, { values }) => {
  const rule = await findRule(client, values[0]!)
  return show(client, rule, () => renderRule(rule, viewOf(client)))
}

const remove: Act = async (client, { values }) => {
  const { model_name: name, warning } = await findRule(client, values[0]!)
  const reply = await client.api.call('deleteRule', { name })
  return show(client, reply, () => {
    const { width, paint } = viewOf(client)
    return [
      ...wrap(`The rule of ${plain(name)} is removed: from now on its requests load it.`, width),
      ...(warning === null ? [] : wrap(plain(warning), width).map((line) => paint('yellow', line))),
    ]
  })
}

export const ruleActs = { list, show: showRule, set, remove } satisfies Record<string, Act>

async function findRule({ api }: Client, wanted: string): Promise<RuleView> {
  const rules = await api.call('listRules')
  const found = rules.find(({ model_name: name }) => name === wanted)
  if (found) return found
  throw notFound(
    'rule',
    wanted,
    rules.map(({ model_name: name }) => name),
  )
}
