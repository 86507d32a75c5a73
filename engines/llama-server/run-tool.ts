import { spawn } from 'node:child_process'
import { basename } from 'node:path'
import { BuildError } from './build-error.ts'

export interface ToolRun {
  argv: readonly [string, ...string[]]
  /** Where it runs; undefined where that does not matter. */
  folder: string | undefined
  env: NodeJS.ProcessEnv
  onLine?: (line: string) => void
}

/** Enough to hold a compiler's complaint. */
const LAST_LINES = 15
const MOST_LINE_CHARS = 300

/** Runs a tool to its end; rejects with its last lines when it fails. It dies with our process group. */
export async function runTool({ argv: [program, ...args], folder, env, onLine }: ToolRun): Promise<void> {
  const child = spawn(program, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const lastLines: string[] = []
  const hear = (line: string): void => {
    onLine?.(line)
    lastLines.push(line.slice(0, MOST_LINE_CHARS))
    if (lastLines.length > LAST_LINES) lastLines.shift()
  }
  for (const stream of [child.stdout, child.stderr]) eachLine(stream, hear)
  const { code, error } = await new Promise<{ code: number | null; error?: Error }>((resolve) => {
    child.once('error', (error) => resolve({ code: null, error }))
    child.once('close', (code) => resolve({ code }))
  })
  if (code === 0) return
  const how = error ? `could not be started: ${error.message}` : `failed (exit code ${code})`
  throw new BuildError([`${basename(program)} ${how}`, ...lastLines].join('\n'))
}

function eachLine(stream: NodeJS.ReadableStream, onLine: (line: string) => void): void {
  let rest = ''
  stream.setEncoding('utf8')
  stream.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop()!.slice(0, MOST_LINE_CHARS)
    for (const line of lines) onLine(line)
  })
  stream.on('end', () => rest && onLine(rest))
}
