import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { documentKeys } from '../../core/declare/document-keys.ts'
import { AppError } from '../../platform/errors.ts'
import { fileProblem } from '../../platform/file-problem.ts'
import { yamlProblem } from '../../platform/yaml-problem.ts'
import { options, variableOf, xdg, type Env, type Option, type OptionName } from './options.ts'

/** A value as given, with a description of its source. */
export interface Given {
  value: unknown
  where: string
  /** Another name for the same option that was also given and is ignored. */
  passedOver?: string
}

export interface ConfigFile {
  path: string
  values: Map<string, Given>
}

/**
 * The file named by --config, else flotilla.yaml here, else the one in the XDG configuration folder, else none. A
 * document for `flotilla apply -f` may have the same name; it is refused only if it was named explicitly.
 */
export async function findConfigFile(
  named: string | undefined,
  env: Env,
  cwd: string,
): Promise<ConfigFile | undefined> {
  if (named !== undefined) return readConfigFile(named)
  const places = [join(cwd, 'flotilla.yaml'), join(xdg(env, 'XDG_CONFIG_HOME', '.config'), 'flotilla', 'flotilla.yaml')]
  for (const path of places.filter((place) => existsSync(place))) {
    const file = await readConfigFile(path)
    if (!isDocument(file)) return file
  }
  return undefined
}

function isDocument({ values }: ConfigFile): boolean {
  const keys: readonly string[] = documentKeys
  return values.size > 0 && [...values.keys()].every((key) => keys.includes(key))
}

export async function readConfigFile(path: string): Promise<ConfigFile> {
  let source: string
  try {
    source = readFileSync(path, 'utf8')
  } catch (error) {
    throw new AppError('usage', `Cannot read the configuration file ${path}: ${fileProblem(error)}.`, { cause: error })
  }
  return parseConfigFile(path, source)
}

export async function parseConfigFile(path: string, source: string): Promise<ConfigFile> {
  // Loaded only when there is a file to read: most machines have none, and it costs 2 MB.
  const { isMap, isScalar, LineCounter, parseDocument } = await import('yaml')
  const lineCounter = new LineCounter()
  const document = parseDocument(source, { lineCounter, prettyErrors: false })
  const problem = document.errors[0]
  if (problem) {
    const { line, col } = lineCounter.linePos(problem.pos[0])
    throw new AppError('usage', `${path}:${line}:${col}: not valid YAML: ${yamlProblem(problem)}.`)
  }
  const values = new Map<string, Given>()
  const root = document.contents
  if (root === null) return { path, values }
  if (!isMap(root)) throw new AppError('usage', `${path}: expected options as "name: value", one per line.`)
  for (const { key, value } of root.items) {
    const name = isScalar(key) ? String(key.value) : String(key)
    const { line } = lineCounter.linePos(isScalar(key) ? (key.range?.[0] ?? 0) : 0)
    const plain: unknown = isScalar(value) ? value.value : (value as { toJSON?: () => unknown } | null)?.toJSON?.()
    values.set(name, { value: plain ?? null, where: `${path}:${line}: ${name}` })
  }
  return { path, values }
}

export function fromEnvironment(env: Env, names: readonly OptionName[]): Map<string, Given> {
  const values = new Map<string, Given>()
  for (const name of names) {
    const { alias }: Option<unknown> = options[name]
    // An empty variable is how shells and compose files say "not set".
    const [where, other] = [variableOf(name), ...(alias === undefined ? [] : [alias])].filter((one) => env[one])
    if (where === undefined) continue
    values.set(name, { value: env[where], where, ...(other === undefined ? {} : { passedOver: other }) })
  }
  return values
}
