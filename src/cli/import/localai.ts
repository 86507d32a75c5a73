import { z } from 'zod'
import { SLOTS_LABEL } from '../../core/nodes/labels.ts'
import { fromLocalAiRule } from '../../core/declare/localai-rule.ts'
import { AppError } from '../../platform/errors.ts'
import { fetchJson, readKeyFile } from './fetch-json.ts'
import { nothingImported, type Imported, type ImportedNode, type ImportedRule, type Importer } from './imported.ts'
import { readLocalAiModels } from './localai-models.ts'

const nodeSchema = z.object({
  name: z.string(),
  node_type: z.string().default('backend'),
  status: z.string().default('healthy'),
  labels: z.record(z.string(), z.string()).nullish(),
  max_replicas_per_model: z.int().nullish(),
  max_replicas_per_model_manually_set: z.boolean().default(false),
  vram_budget: z.string().nullish(),
  vram_budget_manually_set: z.boolean().default(false),
})

/** The selector is text that holds JSON. */
const ruleSchema = z.object({
  model_name: z.string(),
  node_selector: z.union([z.string(), z.record(z.string(), z.string())]).nullish(),
  min_replicas: z.int().default(0),
  max_replicas: z.int().default(0),
  spread_all: z.boolean().default(false),
  route_policy: z.string().nullish(),
  balance_abs_threshold: z.number().nullish(),
  balance_rel_threshold: z.number().nullish(),
  min_prefix_match: z.number().nullish(),
})

/** LocalAI in distributed mode: rules and nodes from its API, models from its folder when that is named. */
export const importLocalAi: Importer = async ({ own }) => {
  const [url, folder] = [own.get('url'), own.get('folder')]
  if (url === undefined && folder === undefined) {
    throw new AppError('usage', 'flotilla import localai: from where? Name --url, --folder, or both.')
  }
  const parts = [
    ...(url === undefined ? [] : [await readCluster(url, readKeyFile(own.get('key-file')))]),
    ...(folder === undefined ? [] : [await readLocalAiModels(folder)]),
  ]
  const document = {
    models: parts.flatMap((part) => part.document.models),
    rules: parts.flatMap((part) => part.document.rules),
    nodes: parts.flatMap((part) => part.document.nodes),
  }
  const known = new Set(document.models.map(({ name }) => name))
  const unknown = document.rules.map(({ model_name: name }) => name).filter((name) => !known.has(name))
  const missing = unknown.map((name) => `The rule of ${name} waits for its model: flotilla models add ${name} …`)
  return { document, notes: [...parts.flatMap(({ notes }) => notes), ...missing] }
}

async function readCluster(url: string, key: string | undefined): Promise<Imported> {
  const nodes = parse(z.array(nodeSchema), await fetchJson(url, 'api/nodes', key, 'LocalAI'), 'nodes')
  const rules = parse(z.array(ruleSchema), await fetchJson(url, 'api/nodes/scheduling', key, 'LocalAI'), 'rules')
  return fromLocalAi(nodes, rules)
}

/** Pure: their nodes and rules in our terms. */
export function fromLocalAi(
  nodes: readonly z.infer<typeof nodeSchema>[],
  rules: readonly z.infer<typeof ruleSchema>[],
): Imported {
  const { document, notes } = nothingImported()
  const selected = new Set<string>()
  for (const rule of rules) {
    const { made, told } = ruleOf(rule)
    document.rules.push(made)
    notes.push(...told)
    for (const key of Object.keys(made['node_selector'] ?? {})) selected.add(key)
  }
  for (const node of nodes) {
    if (node.node_type !== 'backend') notes.push(`Node ${node.name} is an ${node.node_type}, which has no place here.`)
    else document.nodes.push(nodeOf(node, selected))
  }
  if (document.nodes.length > 0) {
    notes.push('What is set on nodes waits until a node of that name joins; then apply the document again.')
  }
  return { document, notes }
}

function ruleOf(theirs: z.infer<typeof ruleSchema>): { made: ImportedRule; told: string[] } {
  const { model_name: name, spread_all: isSpread, min_replicas: min, max_replicas: max, node_selector: given } = theirs
  const { rule, leftOut } = fromLocalAiRule({
    model_name: name,
    ...(isSpread ? { spread_all: true } : {}),
    ...(min > 0 ? { min_replicas: min } : {}),
    ...(max > 0 ? { max_replicas: max } : {}),
    ...selectorOf(given, name),
    ...(theirs.route_policy ? { route_policy: theirs.route_policy } : {}),
    balance_abs_threshold: theirs.balance_abs_threshold ?? 0,
    balance_rel_threshold: theirs.balance_rel_threshold ?? 0,
    min_prefix_match: theirs.min_prefix_match ?? 0,
  })
  const told = leftOut.length === 0 ? [] : [`The rule of ${name} had more: ${leftOut.join(', ')} has no place here.`]
  return { made: rule as ImportedRule, told }
}

function selectorOf(given: string | Record<string, string> | null | undefined, name: string): object {
  if (!given) return {}
  try {
    const selector: unknown = typeof given === 'string' ? JSON.parse(given) : given
    const checked = z.record(z.string(), z.string()).nullable().parse(selector) ?? {}
    return Object.keys(checked).length === 0 ? {} : { node_selector: checked }
  } catch (cause) {
    throw new AppError(
      'bad_gateway',
      `The selector of the rule of ${name} is not understood: ${JSON.stringify(given)}`,
      {
        cause,
      },
    )
  }
}

/** Labels that it finds out by itself are left to Flotilla, except those that a rule asks for: ours may differ. */
function nodeOf(theirs: z.infer<typeof nodeSchema>, selected: ReadonlySet<string>): ImportedNode {
  const kept = Object.entries(theirs.labels ?? {}).filter(
    ([key]) => key !== SLOTS_LABEL && (!AUTOMATIC.has(key) || selected.has(key)),
  )
  return {
    name: theirs.name,
    ...(kept.length > 0 ? { labels: Object.fromEntries(kept) } : {}),
    ...(theirs.max_replicas_per_model_manually_set && theirs.max_replicas_per_model
      ? { max_replicas_per_model: theirs.max_replicas_per_model }
      : {}),
    ...(theirs.vram_budget_manually_set && theirs.vram_budget ? { vram_budget: theirs.vram_budget } : {}),
    ...(theirs.status === 'draining' ? { drain: true } : {}),
  }
}

const AUTOMATIC: ReadonlySet<string> = new Set(['gpu.vendor', 'gpu.vram', 'node.name'])

function parse<T>(schema: z.ZodType<T>, body: unknown, what: string): T {
  const { data, error } = schema.safeParse(body ?? [])
  if (data !== undefined) return data
  const [issue] = error!.issues
  const text = `LocalAI's ${what} are not understood (${issue!.path.join('.')}: ${issue!.message}): is its distributed mode on?`
  throw new AppError('bad_gateway', text)
}
