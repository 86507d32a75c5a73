import { readFile, stat } from 'node:fs/promises'
import { ruleInput, type RuleInput } from '../../api/admin/rule-schemas.ts'
import { fromLocalAiRule } from '../../core/declare/localai-rule.ts'
import { jsonMistakeAt } from '../../core/lib/json-mistake.ts'
import { nearNames } from '../../core/lib/near-names.ts'
import { AppError } from '../../platform/errors.ts'
import { fileProblem } from '../../platform/file-problem.ts'
import { yamlProblem } from '../../platform/yaml-problem.ts'
import type { Logger } from '../../platform/run/log.ts'

/** A value of the configuration, and where it was given. */
interface Given<T> {
  value: T
  where: string
  /** Another name for the same that was given, too, and does not count. */
  passedOver?: string | undefined
}

interface DeclaredRules {
  /** JSON, or a list that is parsed already. */
  inline: Given<string | unknown[]> | undefined
  /** The path of a YAML file. */
  file: Given<string> | undefined
}

interface Entry {
  where: string
  value: unknown
}

const MOST_FILE_BYTES = 4 * 1024 * 1024
const MOST_RULES = 10_000
/** So many mistakes are told at once. */
const MOST_TOLD = 10
const EXAMPLE = '[{"model_name": "qwen", "min_replicas": 1}]'

/**
 * The rules of the configuration, those given inline first. Undefined when rules are not configured at all; an empty list
 * declares that there are none. Any mistake stops the start.
 */
export async function readDeclaredRules(
  { inline, file }: DeclaredRules,
  log: Logger,
): Promise<RuleInput[] | undefined> {
  for (const given of [inline, file]) {
    if (given?.passedOver === undefined) continue
    log.warn({ used: given.where, ignored: given.passedOver }, 'both are set: the former counts, the latter is ignored')
  }
  if (!inline && !file) return undefined
  const entries = [...(inline ? readInline(inline) : []), ...(file ? await readYaml(file) : [])]
  if (entries.length <= MOST_RULES) return judge(entries.map((entry) => withOurRule(entry, log)))
  throw mistake(`${entries.length} rules are configured; ${MOST_RULES} are the most that there may be.`)
}

/** Accepts LocalAI's rules as they are, and reports the fields that have no meaning here. */
function withOurRule({ where, value }: Entry, log: Logger): Entry {
  const { rule, leftOut } = fromLocalAiRule(value)
  if (leftOut.length > 0)
    log.warn({ rule: where, left_out: leftOut }, 'a rule has settings of LocalAI that have no place here')
  return { where, value: rule }
}

function readInline({ value, where }: Given<string | unknown[]>): Entry[] {
  const list: unknown = typeof value === 'string' ? parseJson(value, where) : value
  if (!Array.isArray(list)) throw mistake(`${where}: expected a list of rules, such as ${EXAMPLE}.`)
  return list.map((value: unknown, i) => ({ where: `${where}, entry ${i + 1}`, value }))
}

function parseJson(text: string, where: string): unknown {
  const at = jsonMistakeAt(text)
  if (at === undefined) return JSON.parse(text)
  throw mistake(`${where}: not valid JSON at character ${at + 1}; expected a list of rules, such as ${EXAMPLE}.`)
}

async function readYaml({ value: path, where }: Given<string>): Promise<Entry[]> {
  const text = await readText(path, where)
  // Loaded only when there is a file to read: most machines have none, and it costs 2 MB.
  const { isSeq, LineCounter, parseDocument } = await import('yaml')
  const lineCounter = new LineCounter()
  const document = parseDocument(text, { lineCounter, prettyErrors: false })
  const [problem] = document.errors
  if (problem) {
    const { line, col } = lineCounter.linePos(problem.pos[0])
    throw mistake(`${path}:${line}:${col}: not valid YAML: ${yamlProblem(problem)}.`)
  }
  const root = document.contents
  if (root === null) return []
  if (!isSeq(root)) throw mistake(`${path}: expected a list of rules, each beginning with "- model_name: ".`)
  const values = plainValues(() => document.toJS() as unknown[], path)
  return values.map((value, i) => {
    const at = (root.items[i] as { range?: [number, ...number[]] | null } | null)?.range?.[0] ?? 0
    return { where: `${path}:${lineCounter.linePos(at).line}, entry ${i + 1}`, value }
  })
}

async function readText(path: string, where: string): Promise<string> {
  try {
    const { size } = await stat(path)
    if (size <= MOST_FILE_BYTES) return await readFile(path, 'utf8')
  } catch (error) {
    throw new AppError('usage', `${where}: cannot read ${path}: ${fileProblem(error)}.`, { cause: error })
  }
  throw mistake(`${where}: ${path} has more than ${MOST_FILE_BYTES} bytes, which is no list of rules.`)
}

/** Aliases that multiply are only found out now. */
function plainValues(read: () => unknown[], path: string): unknown[] {
  try {
    return read()
  } catch (error) {
    throw mistake(`${path}: not valid YAML: ${yamlProblem(error as Error)}.`)
  }
}

function judge(entries: readonly Entry[]): RuleInput[] {
  const rules: RuleInput[] = []
  const problems: string[] = []
  const listed = new Map<string, string>()
  for (const { where, value } of entries) {
    const name = nameOf(value)
    const place = name === undefined ? where : `${where} ("${name}")`
    const { data, error } = ruleInput.safeParse(value)
    const before = name === undefined ? undefined : listed.get(name)
    if (error) problems.push(...error.issues.map((issue) => `${place}: ${describeIssue(issue)}`))
    else if (before !== undefined)
      problems.push(`${place}: the model is listed already, as ${before}: keep one of them`)
    else rules.push(data)
    if (name !== undefined) listed.set(name, where)
  }
  if (problems.length === 0) return rules
  const more = problems.length - MOST_TOLD
  const told = [...problems.slice(0, MOST_TOLD), ...(more > 0 ? [`and ${more} more`] : [])]
  throw mistake(told.map(ended).join('\n'))
}

/** The model name in an unchecked entry, so that a mistake names its model. */
function nameOf(value: unknown): string | undefined {
  const name = (value as { model_name?: unknown } | null | undefined)?.model_name
  return typeof name === 'string' && name !== '' ? name : undefined
}

type Issue = NonNullable<ReturnType<typeof ruleInput.safeParse>['error']>['issues'][number]

function describeIssue(issue: Issue): string {
  if (issue.code === 'unrecognized_keys') return issue.keys.map(describeUnknown).join('; ')
  const isMissing = issue.path[0] === 'model_name' && issue.code === 'invalid_type'
  if (isMissing) return 'model_name is required, as text'
  return issue.path.length === 0 ? 'expected a rule, with a model_name' : `${issue.path.join('.')}: ${issue.message}`
}

function describeUnknown(key: string): string {
  const known = Object.keys(ruleInput.in.shape)
  const near = nearNames(key, known)
  const hint = near.length > 0 ? `did you mean ${near.join(' or ')}?` : `known are ${known.join(', ')}`
  return `${key}: there is no such setting; ${hint}`
}

function ended(text: string): string {
  return text.endsWith('?') ? text : `${text}.`
}

function mistake(text: string): AppError {
  return new AppError('usage', text)
}
