import { resolve } from 'node:path'
import { modelInput, type ModelInput, type ModelSaved } from '../../api/admin/model-schemas.ts'
import type { RuleView } from '../../api/admin/rule-schemas.ts'
import { parseSource } from '../../model-source/source.ts'
import { AppError, messageOf } from '../../platform/errors.ts'
import { show, viewOf, type Act, type Client, type Given, type View } from '../client.ts'
import { counted } from '../format.ts'
import { plain } from '../text-width.ts'
import { wrap } from '../wrap.ts'
import { chooseDefaults, type Said } from './choose-defaults.ts'
import { engineHint } from './engine-hint.ts'
import { parseMemory } from './memory-flag.ts'

/** Adds a model or changes it, and with --replicas the rule that keeps it running. */
export const add: Act = async (client, given) => {
  const { said, fields } = parseGiven(given)
  const chosen = await chooseDefaults(client, said)
  const input = toInput({ ...fields, source: said.source, engine: chosen.engine, options: chosen.options })
  const replicas = parseReplicas(given.own.get('replicas'))
  const before = (await client.api.call('listModels')).find(({ name }) => name === input.name)
  const model = await client.api.call('saveModel', {}, input)
  const rule = await keepRunning(client, model.name, replicas)
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

/** Of a model that was changed it has been said what follows. */
function ruleLines(rule: RuleView | undefined, { replaced }: ModelSaved['effect'], isToldAlready: boolean): string[] {
  if (rule?.spread_all) return ['Its rule asks for one replica on every node that it is for.']
  if (rule && rule.min_replicas > 0) return [`Its rule asks for at least ${counted(rule.min_replicas, 'replica')}.`]
  return replaced > 0 || isToldAlready ? [] : ['No rule asks for replicas of it: its first request loads it.']
}

/** What was said, with an engine that only matters if none was said. */
function parseGiven({ values, own, lists }: Given): { said: Said; fields: object } {
  const options = Object.fromEntries((lists.get('option') ?? []).map(parseOption))
  for (const name of ['context', 'parallel']) {
    const text = own.get(name)
    if (text === undefined) continue
    if (name in options) throw mistake(`give --${name} or --option ${name}=…, not both`)
    if (!/^[1-9]\d{0,8}$/.test(text)) throw mistake(`--${name}: expected a whole number, got "${plain(text)}"`)
    options[name] = Number(text)
  }
  const fields = {
    name: values[0],
    memory: readMemory(own.get('memory')),
    anti_affinity: own.get('anti-affinity') ?? null,
  }
  const said = { engine: own.get('engine'), source: readSource(own.get('source')), options }
  // What is wrong with the rest is told before the cluster is asked about the files.
  toInput({ ...fields, ...said, engine: said.engine ?? 'unsaid' })
  return { said, fields }
}

/** What can be known to be wrong without looking at any file. */
function readSource(text: string | undefined): string | null {
  if (text === undefined || text.startsWith('ollama:')) return text ?? null
  if (!/^[a-z]{2,}:/.test(text)) {
    throw mistake(`--source: a file on the nodes themselves is written file:${plain(resolve(text))}`)
  }
  try {
    parseSource(text)
  } catch (error) {
    throw mistake(plain(messageOf(error)).replace(/\.$/, ''))
  }
  return text
}

function toInput(fields: object): ModelInput {
  const parsed = modelInput.safeParse(fields)
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
      spread_all: false,
      // Replicas that are kept without any request, and none without one, contradict each other.
      scale_to_zero_after_s: replicas === 0 ? (rule?.scale_to_zero_after_s ?? null) : null,
      node_selector: rule?.node_selector ?? {},
      route_policy: rule?.route_policy ?? 'least_loaded',
    },
  )
}

function readMemory(text: string | undefined): ModelInput['memory'] {
  if (text === undefined) return null
  const memory = parseMemory(text)
  if (memory) return memory
  throw mistake(`--memory: expected a size such as 12GiB, or vram=12GiB,ram=2GiB, got "${plain(text)}"`)
}

function mistake(what: string): AppError {
  return new AppError('usage', `flotilla models add: ${what}.`)
}
