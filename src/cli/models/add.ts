import { modelInput, type ModelInput, type RuleView } from '../../api/admin/schemas.ts'
import { AppError } from '../../platform/errors.ts'
import { show, type Act, type Client, type Given } from '../client.ts'
import { counted } from '../format.ts'
import { plain } from '../text-width.ts'
import { engineHint } from './engine-hint.ts'

/** Adds a model or changes it, and with --replicas the rule that keeps it running. */
export const add: Act = async (client, given) => {
  const input = parseModel(given)
  const replicas = parseReplicas(given.own.get('replicas'))
  const before = (await client.api.call('listModels')).find(({ name }) => name === input.name)
  const model = await client.api.call('saveModel', {}, input)
  const rule = await keepRunning(client, model.name, replicas)
  const name = plain(model.name)
  const hint = client.json ? [] : await engineHint(client, model.engine)
  return show(client, replicas === undefined ? model : { ...model, rule }, () => [
    before === undefined
      ? `${name} is added.`
      : before.revision === model.revision
        ? `${name} is as it was.`
        : `${name} is changed; replicas of how it was are replaced.`,
    rule && rule.min_replicas > 0
      ? `Its rule asks for at least ${counted(rule.min_replicas, 'replica')}.`
      : 'No rule asks for replicas of it: --replicas 1 starts one.',
    ...hint,
  ])
}

function parseModel({ values, own, lists }: Given): ModelInput {
  const engine = own.get('engine')
  if (engine === undefined) throw mistake('--engine is needed: flotilla engines lists what there is')
  const parsed = modelInput.safeParse({
    name: values[0],
    engine,
    source: own.get('source') ?? null,
    options: Object.fromEntries((lists.get('option') ?? []).map(parseOption)),
  })
  if (parsed.success) return parsed.data
  const { path, message } = parsed.error.issues[0]!
  throw mistake(`${path.map(String).join('.')}: ${message}`)
}

/** Numbers and truth values become what they look like; in quotes of its own a value stays text. */
function parseOption(text: string): [string, string | number | boolean] {
  const at = text.indexOf('=')
  if (at <= 0) throw mistake(`--option: expected key=value, got "${plain(text)}"`)
  const value = text.slice(at + 1)
  const isNumber = value !== '' && String(Number(value)) === value && Number.isFinite(Number(value))
  const isText = /^"(.*)"$/s.exec(value)?.[1]
  const meant = isText ?? (isNumber ? Number(value) : value === 'true' ? true : value === 'false' ? false : value)
  return [text.slice(0, at), meant]
}

function parseReplicas(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (/^\d{1,4}$/.test(text)) return Number(text)
  throw mistake(`--replicas: expected a whole number, got "${plain(text)}"`)
}

async function keepRunning({ api }: Client, name: string, replicas: number | undefined): Promise<RuleView | undefined> {
  const rule = (await api.call('listRules')).find(({ model_name: of }) => of === name)
  if (replicas === undefined) return rule
  const cap = rule?.max_replicas ?? 0
  // What else somebody has set stays, but not a cap that is in the way.
  const max = cap === 0 ? 0 : Math.max(cap, replicas)
  return api.call(
    'saveRule',
    {},
    {
      model_name: name,
      min_replicas: replicas,
      max_replicas: max,
      node_selector: rule?.node_selector ?? {},
      route_policy: rule?.route_policy ?? 'least_loaded',
    },
  )
}

function mistake(what: string): AppError {
  return new AppError('usage', `flotilla models add: ${what}.`)
}
