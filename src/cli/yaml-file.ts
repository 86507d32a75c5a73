import { readFile, stat } from 'node:fs/promises'
import type { Document, LineCounter } from 'yaml'
import { AppError } from '../platform/errors.ts'
import { fileProblem } from '../platform/file-problem.ts'
import { yamlProblem } from '../platform/yaml-problem.ts'
import { plain } from './terminal/text-width.ts'

/** Where something stands in a document, from the outside in. */
export type YamlPath = readonly PropertyKey[]

export interface YamlFile {
  /** Null when the file is empty. */
  values: unknown
  /** `file:line` of a value, or of the closest enclosing one. */
  whereIs: (path: YamlPath) => string
}

/** Reads a YAML file, unless it is too long for `what` it should be. */
export async function readYamlFile(path: string, mostBytes: number, what: string): Promise<YamlFile> {
  const text = await readText(path, mostBytes, what)
  // Loaded only when there is a file to read.
  const { LineCounter, parseDocument } = await import('yaml')
  const lines = new LineCounter()
  const yaml = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  const [problem] = yaml.errors
  if (problem) {
    const { line, col } = lines.linePos(problem.pos[0])
    throw new AppError('usage', `${path}:${line}:${col}: not valid YAML: ${yamlProblem(problem)}.`)
  }
  return { values: valuesOf(yaml, path), whereIs: (at) => `${path}:${lineOf(yaml, lines, at)}` }
}

/** `models[1].memory.vram`, counted as in the file: from 1. */
export function pathText(path: YamlPath): string {
  return plain(
    path
      .map((part, i) => (typeof part === 'number' ? `[${part + 1}]` : `${i === 0 ? '' : '.'}${String(part)}`))
      .join(''),
  )
}

async function readText(path: string, mostBytes: number, what: string): Promise<string> {
  try {
    const { size } = await stat(path)
    if (size <= mostBytes) return await readFile(path, 'utf8')
  } catch (error) {
    throw new AppError('usage', `Cannot read ${path}: ${fileProblem(error)}.`, { cause: error })
  }
  throw new AppError('usage', `${path} has more than ${mostBytes} bytes, which is no ${what}.`)
}

/** Aliases that multiply are only detected here. */
function valuesOf(yaml: Document, path: string): unknown {
  try {
    return (yaml.toJS() as unknown) ?? null
  } catch (error) {
    throw new AppError('usage', `${path}: not valid YAML: ${yamlProblem(error as Error)}.`)
  }
}

function lineOf(yaml: Document, lines: LineCounter, path: YamlPath): number {
  for (let length = path.length; length > 0; length -= 1) {
    const at = keyOffset(yaml, path.slice(0, length)) ?? rangeOf(yaml.getIn(path.slice(0, length), true))
    if (at !== undefined) return lines.linePos(at).line
  }
  return 1
}

/** Where the name of a setting stands: its value may begin on a later line. */
function keyOffset(yaml: Document, path: YamlPath): number | undefined {
  const around: unknown = path.length === 1 ? yaml.contents : yaml.getIn(path.slice(0, -1), true)
  const items = (around as { items?: { key?: { value?: unknown } }[] } | null | undefined)?.items ?? []
  const pair = items.find((item) => item.key?.value !== undefined && item.key.value === path.at(-1))
  return rangeOf(pair?.key)
}

function rangeOf(node: unknown): number | undefined {
  return (node as { range?: [number, ...number[]] | null } | null | undefined)?.range?.[0]
}
