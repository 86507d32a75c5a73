import { readFile, stat } from 'node:fs/promises'
import type { Document, LineCounter } from 'yaml'
import { modelInput } from '../../api/admin/model-schemas.ts'
import { ruleInput } from '../../api/admin/rule-schemas.ts'
import { documentInput, nodeInput, type DocumentInput } from '../../api/document.ts'
import { documentKeys } from '../../core/declare/document-keys.ts'
import { nearNames } from '../../core/lib/near-names.ts'
import { AppError, messageOf } from '../../platform/errors.ts'
import { plain } from '../text-width.ts'

/** The API takes no more in one piece. */
const MOST_BYTES = 1024 * 1024
/** So many mistakes are told at once. */
const MOST_TOLD = 10

/** Reads and checks a document. Each mistake is told with its file, line and place. */
export async function readDocument(path: string): Promise<DocumentInput> {
  const text = await readText(path)
  // Loaded only when there is a file to read.
  const { LineCounter, parseDocument } = await import('yaml')
  const lines = new LineCounter()
  const yaml = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  const [problem] = yaml.errors
  if (problem) {
    const { line, col } = lines.linePos(problem.pos[0])
    throw mistake(`${path}:${line}:${col}: not valid YAML: ${problem.message}`)
  }
  const { data, error } = documentInput.safeParse(valuesOf(yaml, path))
  if (data) return data
  const told = error.issues.flatMap((issue) => describeIssue(issue, (at) => `${path}:${lineOf(yaml, lines, at)}`))
  const more = told.length - MOST_TOLD
  throw mistake([...told.slice(0, MOST_TOLD), ...(more > 0 ? [`and ${more} more.`] : [])].join('\n'))
}

async function readText(path: string): Promise<string> {
  try {
    const { size } = await stat(path)
    if (size <= MOST_BYTES) return await readFile(path, 'utf8')
  } catch (error) {
    throw new AppError('usage', `Cannot read ${path}: ${messageOf(error)}.`, { cause: error })
  }
  throw mistake(`${path} has more than ${MOST_BYTES} bytes, which is no document of models, rules and nodes.`)
}

/** An empty file is an empty document. Aliases that multiply are only found out now. */
function valuesOf(yaml: Document, path: string): unknown {
  try {
    return (yaml.toJS() as unknown) ?? {}
  } catch (error) {
    throw mistake(`${path}: not valid YAML: ${messageOf(error)}`)
  }
}

type Issue = NonNullable<ReturnType<typeof documentInput.safeParse>['error']>['issues'][number]
type Path = readonly PropertyKey[]

function describeIssue(issue: Issue, whereOf: (path: Path) => string): string[] {
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

/** `models[0].memory.vram`, counted as in the file: from 1. */
function pathText(path: Path): string {
  return plain(
    path
      .map((part, i) => (typeof part === 'number' ? `[${part + 1}]` : `${i === 0 ? '' : '.'}${String(part)}`))
      .join(''),
  )
}

function describeUnknown(path: Path, key: string): string {
  const known = knownKeys(path)
  const near = nearNames(key, known)
  if (near.length > 0) return `there is no such setting; did you mean ${near.join(' or ')}?`
  const list = known.length === 0 ? '' : `; known are ${known.join(', ')}`
  const aside = path.length === 0 ? '. Options of Flotilla itself belong into its configuration, another file' : ''
  return `there is no such setting${list}${aside}.`
}

function knownKeys(path: Path): readonly string[] {
  if (path.length === 0) return documentKeys
  if (path.length > 2) return path[2] === 'memory' ? ['vram', 'ram'] : []
  if (path[0] === 'models') return Object.keys(modelInput.shape)
  return Object.keys(path[0] === 'rules' ? ruleInput.in.shape : nodeInput.shape)
}

/** Of what is there, or of the nearest thing around it. */
function lineOf(yaml: Document, lines: LineCounter, path: Path): number {
  for (let length = path.length; length > 0; length -= 1) {
    const at = keyOffset(yaml, path.slice(0, length)) ?? rangeOf(yaml.getIn(path.slice(0, length), true))
    if (at !== undefined) return lines.linePos(at).line
  }
  return 1
}

/** Where the name of a setting stands: its value may begin on a later line. */
function keyOffset(yaml: Document, path: Path): number | undefined {
  const around: unknown = path.length === 1 ? yaml.contents : yaml.getIn(path.slice(0, -1), true)
  const items = (around as { items?: { key?: { value?: unknown } }[] } | null | undefined)?.items ?? []
  const pair = items.find((item) => item.key?.value !== undefined && item.key.value === path.at(-1))
  return rangeOf(pair?.key)
}

function rangeOf(node: unknown): number | undefined {
  return (node as { range?: [number, ...number[]] | null } | null | undefined)?.range?.[0]
}

function mistake(text: string): AppError {
  return new AppError('usage', text)
}
