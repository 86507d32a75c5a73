import { modelInput } from '../../api/admin/model-schemas.ts'
import { ruleInput } from '../../api/admin/rule-schemas.ts'
import { documentInput, nodeInput, type DocumentInput } from '../../api/admin/document.ts'
import { documentKeys } from '../../core/declare/document-keys.ts'
import { fromLocalAiRule } from '../../core/declare/localai-rule.ts'
import { nearNames } from '../../core/lib/near-names.ts'
import { AppError } from '../../platform/errors.ts'
import { plain } from '../terminal/text-width.ts'
import { pathText, readYamlFile, type YamlPath } from '../yaml-file.ts'

/** The API takes no more in one piece. */
const MOST_BYTES = 1024 * 1024
/** So many mistakes are told at once. */
const MOST_TOLD = 10

/** Reads and checks a document. Each mistake is told with its file, line and place. */
export async function readDocument(path: string, note: (text: string) => void): Promise<DocumentInput> {
  const { values, whereIs } = await readYamlFile(path, MOST_BYTES, 'document of models, rules and nodes')
  // LocalAI's files of rules are a list of them.
  const isList = Array.isArray(values) && values.some(hasModelName)
  const document = withOurRules(isList ? { rules: values } : values, note)
  // An empty file is an empty document.
  const { data, error } = documentInput.safeParse(document ?? {})
  if (data) return data
  const whereOf = (at: YamlPath): string => whereIs(isList ? at.slice(1) : at)
  const told = error.issues.flatMap((issue) => describeIssue(issue, whereOf))
  const more = told.length - MOST_TOLD
  throw mistake([...told.slice(0, MOST_TOLD), ...(more > 0 ? [`and ${more} more.`] : [])].join('\n'))
}

function hasModelName(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'model_name' in value
}

/** Accepts rules in LocalAI's format; reports what is left out of them. */
function withOurRules(document: unknown, note: (text: string) => void): unknown {
  const { rules } = (document ?? {}) as { rules?: unknown }
  if (!Array.isArray(rules)) return document
  const ours = rules.map((value: unknown) => {
    const { rule, leftOut } = fromLocalAiRule(value)
    const name = String((rule as { model_name?: unknown } | null)?.model_name)
    if (leftOut.length > 0) note(`The rule of ${plain(name)} has more: ${leftOut.join(', ')} has no place here.`)
    return rule
  })
  return { ...(document as object), rules: ours }
}

type Issue = NonNullable<ReturnType<typeof documentInput.safeParse>['error']>['issues'][number]

function describeIssue(issue: Issue, whereOf: (path: YamlPath) => string): string[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => {
      const at = [...issue.path, key]
      return `${whereOf(at)}: ${pathText(at)}: ${describeUnknown(issue.path, key)}`
    })
  }
  const what = issue.path.length === 0 ? `expected ${documentKeys.join(', ')} with a list below each` : issue.message
  const place = issue.path.length === 0 ? '' : ` ${pathText(issue.path)}:`
  return [`${whereOf(issue.path)}:${place} ${plain(what)}.`]
}

function describeUnknown(path: YamlPath, key: string): string {
  const known = knownKeys(path)
  const near = nearNames(key, known)
  if (near.length > 0) return `there is no such setting; did you mean ${near.join(' or ')}?`
  const list = known.length === 0 ? '' : `; known are ${known.join(', ')}`
  const aside = path.length === 0 ? '. Options of Flotilla itself belong into its configuration, another file' : ''
  return `there is no such setting${list}${aside}.`
}

function knownKeys(path: YamlPath): readonly string[] {
  if (path.length === 0) return documentKeys
  if (path.length > 2) return path[2] === 'memory' ? ['vram', 'ram'] : []
  if (path[0] === 'models') return Object.keys(modelInput.shape)
  return Object.keys(path[0] === 'rules' ? ruleInput.in.shape : nodeInput.shape)
}

function mistake(text: string): AppError {
  return new AppError('usage', text)
}
