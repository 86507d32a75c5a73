import { modelAddition, type ModelSaved } from '../../api/admin/model-schemas.ts'
import type { RuleView } from '../../api/admin/rule-schemas.ts'
import { show, viewOf, type Act, type Given, type View } from '../client.ts'
import { counted } from '../terminal/format.ts'
import { plain } from '../terminal/text-width.ts'
import { wrap } from '../terminal/wrap.ts'
import { chooseDefaults, type Said } from './choose-defaults.ts'
import { engineHint } from './engine-hint.ts'
import { mistake, readMemory, readOptions, readSource, toInput, type OptionValue } from './model-flags.ts'

/** Adds a model, and with --replicas the rule that keeps it running, both or neither. */
export const add: Act = async (client, given) => {
  const { said, fields } = parseGiven(given)
  const replicas = parseReplicas(given.own.get('replicas'))
  const chosen = await chooseDefaults(client, said)
  const input = toInput({ ...fields, source: said.source, engine: chosen.engine, options: chosen.options }, 'add')
  const before = (await client.api.call('listModels')).find(({ name }) => name === input.name)
  const params = Object.fromEntries(
    ['replace', 'later'].flatMap((flag) => (given.own.has(flag) ? [[flag, 'true']] : [])),
  )
  const asked = modelAddition.parse({ ...input, ...(replicas === undefined ? {} : { replicas }) })
  const model = await client.api.call('saveModel', params, asked)
  const rule = (await client.api.call('listRules')).find(({ model_name: of }) => of === model.name)
  const name = plain(model.name)
  const hint = client.json ? [] : await engineHint(client, model.engine)
  return show(client, replicas === undefined ? model : { ...model, rule }, () => [
    ...savedLines(name, before !== undefined, model.effect, viewOf(client)),
    ...chosen.lines.flatMap((line) => wrap(line, viewOf(client).width)),
    ...ruleLines(rule, model.effect, before !== undefined && model.effect.is_changed),
    ...hint,
  ])
}

function savedLines(name: string, wasThere: boolean, effect: ModelSaved['effect'], { width }: View): string[] {
  if (!wasThere) return [`${name} is added.`]
  return effect.is_changed ? wrap(`${name} is changed. ${plain(effect.text)}`, width) : [`${name} is as it was.`]
}

/** If an existing model was changed, the consequences have been printed already. */
function ruleLines(rule: RuleView | undefined, { replaced }: ModelSaved['effect'], isToldAlready: boolean): string[] {
  if (rule?.spread_all) return ['Its rule asks for one replica on every node that it is for.']
  if (rule && rule.min_replicas > 0) return [`Its rule asks for at least ${counted(rule.min_replicas, 'replica')}.`]
  return replaced > 0 || isToldAlready ? [] : ['No rule asks for replicas of it: its first request loads it.']
}

/** The given flags, with an engine that only matters if none was given. */
function parseGiven({ values, own, lists }: Given): { said: Said; fields: object } {
  // A new model has nothing to reset, so no option is null.
  const options = readOptions({ own, lists }, 'add') as Record<string, OptionValue>
  const fields = {
    name: values[0],
    memory: readMemory(own.get('memory'), 'add'),
    anti_affinity: own.get('anti-affinity') ?? null,
  }
  const said = { engine: own.get('engine'), source: readSource(own.get('source'), 'add'), options }
  // Mistakes in the rest are reported before the cluster is asked about the files.
  toInput({ ...fields, ...said, engine: said.engine ?? 'unsaid' }, 'add')
  return { said, fields }
}

function parseReplicas(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (/^\d{1,4}$/.test(text)) return Number(text)
  throw mistake('add', `--replicas: expected a whole number, got "${plain(text)}"`)
}
