import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { AppError, messageOf } from '../platform/errors.ts'
import { variableOf, xdg, type Env, type OptionName } from './options.ts'

/** A value as it was given, with words for where it came from. */
export interface Given {
  value: unknown
  where: string
}

export interface ConfigFile {
  path: string
  values: Map<string, Given>
}

/** The file named by --config, else flotilla.yaml here, else the one in the XDG configuration folder, else none. */
export function findConfigFile(named: string | undefined, env: Env, cwd: string): string | undefined {
  if (named !== undefined) return named
  const places = [join(cwd, 'flotilla.yaml'), join(xdg(env, 'XDG_CONFIG_HOME', '.config'), 'flotilla', 'flotilla.yaml')]
  return places.find((path) => existsSync(path))
}

export async function readConfigFile(path: string): Promise<ConfigFile> {
  let source: string
  try {
    source = readFileSync(path, 'utf8')
  } catch (error) {
    throw new AppError('usage', `Cannot read the configuration file ${path}: ${messageOf(error)}.`, { cause: error })
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
    throw new AppError('usage', `${path}:${line}:${col}: not valid YAML: ${problem.message}`)
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
    const value = env[variableOf(name)]
    // An empty variable is how shells and compose files say "not set".
    if (value !== undefined && value !== '') values.set(name, { value, where: variableOf(name) })
  }
  return values
}
