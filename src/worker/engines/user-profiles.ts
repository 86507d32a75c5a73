import { readdirSync, readFileSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, join } from 'node:path'
import type * as Yaml from 'yaml'
import type { z } from 'zod'
import { engineProfile, type EngineProfile } from '../../api/engine-profile.ts'
import { nearNames } from '../../core/lib/near-names.ts'
import { messageOf } from '../../platform/errors.ts'
import { fileProblem } from '../../platform/file-problem.ts'
import { yamlProblem } from '../../platform/yaml-problem.ts'

/** An unusable profile: its name (the file's name where it has none), and what to fix where. */
export interface BrokenProfile {
  name: string
  reason: string
}

export interface UserProfiles {
  profiles: EngineProfile[]
  broken: BrokenProfile[]
}

const MOST_FILES = 100
const MOST_PROFILES = 150
const MOST_FILE_BYTES = 1024 * 1024
const MOST_ISSUES_NAMED = 3

/** Loaded only when there is something to read: it would cost every worker some megabytes. */
const yaml = (): typeof Yaml => createRequire(import.meta.url)('yaml') as typeof Yaml

/** Reads every `*.yaml` and `*.yml` in the folder. Mistakes are part of the result; none of them ends the worker. */
export function readUserProfiles(folder: string): UserProfiles {
  const read: Read[] = []
  const about = (reason: string): BrokenProfile => ({ name: basename(folder), reason })
  let files: string[]
  try {
    files = profileFiles(folder)
  } catch (error) {
    return { profiles: [], broken: [about(`Cannot read the folder of engine profiles: ${fileProblem(error)}.`)] }
  }
  for (const file of files.slice(0, MOST_FILES)) read.push(...readFile(folder, file))
  const result = withoutDoubles(read.slice(0, MOST_PROFILES))
  if (files.length > MOST_FILES || read.length > MOST_PROFILES) {
    const most = `at most ${MOST_FILES} files and ${MOST_PROFILES} profiles are read`
    result.broken.push(about(`The folder ${basename(folder)} has too much in it: ${most}. Remove some.`))
  }
  return result
}

/** Changes whenever a file of the folder changes. Costs one stat for each file. */
export function signatureOf(folder: string): string {
  try {
    return profileFiles(folder)
      .map((file) => {
        const stat = statSync(join(folder, file), { throwIfNoEntry: false })
        return `${file}:${stat?.mtimeMs}:${stat?.size}:${stat?.ino}`
      })
      .join('\n')
  } catch (error) {
    return messageOf(error)
  }
}

function profileFiles(folder: string): string[] {
  let names: string[]
  try {
    names = readdirSync(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
  // Editors leave files whose names begin with a dot.
  return names.filter((name) => /^[^.].*\.ya?ml$/.test(name)).toSorted()
}

/** One item of a file, good or not. `where` is its file and line. */
type Read = { name: string; where: string } & ({ profile: EngineProfile } | { reason: string })

function readFile(folder: string, file: string): Read[] {
  const broken = (reason: string): Read[] => [{ name: file, where: file, reason }]
  let text: string
  try {
    const bytes = statSync(join(folder, file)).size
    if (bytes > MOST_FILE_BYTES) return broken(`${file} has ${bytes} bytes; a profile has at most ${MOST_FILE_BYTES}.`)
    text = readFileSync(join(folder, file), 'utf8')
  } catch (error) {
    return broken(`Cannot read ${file}: ${fileProblem(error)}.`)
  }
  const { isSeq, LineCounter, parseDocument } = yaml()
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  const [mistake] = document.errors
  if (mistake) return broken(`${file}:${lines.linePos(mistake.pos[0]).line}: not valid YAML: ${yamlProblem(mistake)}.`)
  let value: unknown
  try {
    value = document.toJS()
  } catch (error) {
    return broken(`${file}: not valid YAML: ${yamlProblem(error as Error)}.`)
  }
  if (value === null || value === undefined) return broken(`${file} has no profile in it.`)
  const source: Source = { file, document, lines }
  if (!isSeq(document.contents)) return [parseItem(source, value, [])]
  return (value as unknown[]).map((item, index) => parseItem(source, item, [index]))
}

interface Source {
  file: string
  document: Yaml.Document.Parsed
  lines: Yaml.LineCounter
}

function parseItem(source: Source, item: unknown, at: PropertyKey[]): Read {
  const parsed = engineProfile.safeParse(item)
  const where = placeOf(source, at)
  if (parsed.success) return { name: parsed.data.name, where, profile: parsed.data }
  const reasons = parsed.error.issues
    .slice(0, MOST_ISSUES_NAMED)
    .map((issue) => `${placeOf(source, [...at, ...issue.path])}: ${describe(issue)}`)
  const left = parsed.error.issues.length - reasons.length
  const reason = reasons.join('; ') + (left > 0 ? `; and ${left} more` : '')
  return { name: nameIn(item) ?? [source.file, ...at].join('#'), where, reason }
}

/** File and line of a field; of the closest enclosing field when it is missing. */
function placeOf({ file, document, lines }: Source, path: PropertyKey[]): string {
  for (let length = path.length; length >= 0; length -= 1) {
    const node: unknown = length === 0 ? document.contents : document.getIn(path.slice(0, length), true)
    const range = (node as { range?: [number, number, number] | null } | undefined)?.range
    if (range) return `${file}:${lines.linePos(range[0]).line}`
  }
  return file
}

function describe(issue: z.core.$ZodIssue): string {
  const field = issue.path.join('.')
  if (issue.code !== 'unrecognized_keys') return field === '' ? issue.message : `${field}: ${issue.message}`
  const known = Object.keys(engineProfile.shape)
  return issue.keys
    .map((key) => {
      const [near] = issue.path.length === 0 ? nearNames(key, known) : []
      const name = [...issue.path, key].join('.')
      return `there is no field "${name}"${near === undefined ? '' : `; did you mean "${near}"?`}`
    })
    .join('; ')
}

function nameIn(item: unknown): string | undefined {
  const name = engineProfile.shape.name.safeParse((item as { name?: unknown } | null)?.name)
  return name.success ? name.data : undefined
}

function withoutDoubles(read: readonly Read[]): UserProfiles {
  const byName = Map.groupBy(read, ({ name }) => name)
  const result: UserProfiles = { profiles: [], broken: [] }
  for (const [name, items] of byName) {
    const [item] = items
    if (items.length > 1) {
      const places = items.map(({ where }) => where).join(' and ')
      result.broken.push({ name, reason: `The profile "${name}" is there more than once: ${places}. Keep one.` })
    } else if (item && 'profile' in item) result.profiles.push(item.profile)
    else if (item) result.broken.push({ name, reason: item.reason })
  }
  return result
}
