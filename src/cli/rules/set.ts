import { ruleInput, type RuleInput, type RuleView } from '../../api/admin/rule-schemas.ts'
import { parseSelector } from '../../api/selector-text.ts'
import { routePolicies, type Selector } from '../../core/types.ts'
import { AppError } from '../../platform/errors.ts'
import { nearNames } from '../../core/lib/near-names.ts'
import { confirm } from '../terminal/confirm.ts'
import { foreseen } from '../foreseen.ts'
import { unlessChanged } from '../unless-changed.ts'
import { show, viewOf, type Act, type Client, type Given } from '../client.ts'
import { parseSpanS } from '../terminal/format.ts'
import { plain } from '../terminal/text-width.ts'
import { wrap } from '../terminal/wrap.ts'
import { countText, selectorText } from './rule-text.ts'

/** The word that resets what a flag has set. */
const NONE = 'none'

const FLAGS = ['min', 'max', 'spread', 'selector', 'policy', 'scale-to-zero'] as const

/** Creates a rule, or changes its named fields; concurrent changes of another admin stay. */
export const set: Act = async (client, given) => {
  const asked = readFlags(given)
  const name = given.values[0]!
  const models = (await client.api.call('listModels')).map((model) => model.name)
  const isKnown = models.includes(name)
  const rule = await unlessChanged(async () => {
    const before = (await client.api.call('listRules')).find(({ model_name: of }) => of === name)
    const input = toInput({ model_name: name, ...settingsOf(before), ...asked })
    if (isKnown && asked.node_selector && !(await isMeant(client, given, input))) return undefined
    return client.api.call('saveRule', { if_updated_at: String(before?.updated_at ?? 0) }, input)
  })
  if (!rule) return 1
  return show(client, rule, () => {
    const { width, paint } = viewOf(client)
    const where = selectorText(rule)
    const text = `The rule of ${plain(name)} asks for ${countText(rule)}, on ${where === 'any' ? 'any node' : `nodes with ${plain(where)}`}.`
    return [
      ...wrap(text, width),
      ...(isKnown ? [] : wrap(waitsText(name, models), width)),
      ...(rule.warning === null ? [] : wrap(plain(rule.warning), width).map((line) => paint('yellow', line))),
    ]
  })
}

/** If a selector would leave a serving model without a replica, the command asks first. */
async function isMeant(client: Client, { own }: Given, rule: RuleInput): Promise<boolean> {
  const { model_name: name, min_replicas, max_replicas, spread_all, node_selector } = rule
  const counts = spread_all ? {} : { min_replicas, max_replicas }
  const idea = { model_name: name, spread_all, node_selector, ...counts }
  const { left, text } = await foreseen(client, { rules: [idea] })
  if (!left.some((one) => one.model_name === name && !one.is_replaced)) return true
  return confirm(client, own, {
    command: 'rules set',
    deed: `save it all the same. ${text.replace(/\.$/, '')}`,
    about: wrap(text, viewOf(client).width).join('\n'),
    question: `Leave ${plain(name)} without a replica?`,
    otherwise: 'Nothing was saved.',
  })
}

function waitsText(name: string, models: readonly string[]): string {
  const near = nearNames(name, models)
  const hint = near.length > 0 ? ` Did you mean ${near.map(plain).join(' or ')}?` : ''
  return `There is no model ${plain(name)} yet: the rule waits for it.${hint}`
}

function toInput(fields: object): RuleInput {
  const input = ruleInput.safeParse(fields)
  if (input.success) return input.data
  const { path, message } = input.error.issues[0]!
  throw mistake(`${flagNames[String(path[0])] ?? path.join('.')}: ${message}`)
}

/** What the API calls a flag. */
const flagNames: Readonly<Record<string, string>> = {
  min_replicas: '--min',
  max_replicas: '--max',
  spread_all: '--spread',
  node_selector: '--selector',
  route_policy: '--policy',
  scale_to_zero_after_s: '--scale-to-zero',
}

function settingsOf(rule: RuleView | undefined): Partial<RuleInput> {
  if (!rule) return {}
  const { min_replicas, max_replicas, spread_all, node_selector, route_policy, scale_to_zero_after_s } = rule
  return { min_replicas, max_replicas, spread_all, node_selector, route_policy, scale_to_zero_after_s }
}

/** The named fields, and those that they exclude. */
function readFlags({ own }: Given): Partial<RuleInput> {
  if (!FLAGS.some((flag) => own.has(flag))) {
    throw mistake(`what is it to ask for? Name one of ${FLAGS.map((flag) => `--${flag}`).join(', ')}`)
  }
  const [min, max] = [readCount(own, 'min'), readCount(own, 'max')]
  const counts = min !== undefined || max !== undefined
  if (counts && own.has('spread')) throw mistake('give --spread, or --min and --max, not both')
  return {
    ...(counts ? { spread_all: false } : {}),
    ...(own.has('spread') ? { spread_all: true, min_replicas: 0, max_replicas: 0, scale_to_zero_after_s: null } : {}),
    ...(min === undefined ? {} : { min_replicas: min }),
    ...(max === undefined ? {} : { max_replicas: max }),
    ...readSelector(own.get('selector')),
    ...readPolicy(own.get('policy')),
    ...readScaleToZero(own.get('scale-to-zero')),
  }
}

function readCount(own: Given['own'], flag: 'min' | 'max'): number | undefined {
  const text = own.get(flag)
  if (text === undefined) return undefined
  if (text === NONE) return 0
  if (/^\d{1,5}$/.test(text)) return Number(text)
  throw mistake(`--${flag}: expected a whole number, got "${plain(text)}"`)
}

function readSelector(text: string | undefined): { node_selector?: Selector } {
  if (text === undefined) return {}
  if (text === 'any' || text === NONE) return { node_selector: {} }
  const read = parseSelector(text)
  if (read.ok) return { node_selector: read.selector }
  throw mistake(`--selector: ${plain(read.problem)}`)
}

function readPolicy(text: string | undefined): Partial<Pick<RuleInput, 'route_policy'>> {
  if (text === undefined) return {}
  if (text === NONE) return { route_policy: 'least_loaded' }
  const policy = routePolicies.find((one) => one === text)
  if (policy) return { route_policy: policy }
  throw mistake(`--policy: expected ${routePolicies.join(', ')}, got "${plain(text)}"`)
}

function readScaleToZero(text: string | undefined): Partial<Pick<RuleInput, 'scale_to_zero_after_s'>> {
  if (text === undefined) return {}
  if (text === 'never' || text === NONE) return { scale_to_zero_after_s: null }
  const seconds = parseSpanS(text)
  if (seconds !== undefined) return { scale_to_zero_after_s: seconds }
  throw mistake(`--scale-to-zero: expected a time such as 90s, 30m or 1h, or never, got "${plain(text)}"`)
}

function mistake(what: string): AppError {
  return new AppError('usage', `flotilla rules set: ${what}.`)
}
