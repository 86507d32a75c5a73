import { spawn, type ChildProcessByStdio } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Readable } from 'node:stream'

export type Process = ChildProcessByStdio<null, Readable, Readable>

/** Starts one of the scripts of this folder as a process of its own. */
export function startScript(script: string, args: readonly string[]): Process {
  return spawn(process.execPath, [join(import.meta.dirname, script), ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
}

/** Runs a script to its end and answers with the lines it printed; fails with what it complained about. */
export async function runScript(script: string, args: readonly string[]): Promise<string[]> {
  const child = startScript(script, args)
  const output = collect(child.stdout)
  const complaints = collect(child.stderr)
  const [code] = (await once(child, 'exit')) as [number | null]
  const lines = (await output).split('\n').slice(0, -1)
  if (code !== 0) throw new Error(`${script} ${args[0]} ended with ${code}:\n${await complaints}`)
  return lines
}

async function collect(stream: Readable): Promise<string> {
  let text = ''
  for await (const chunk of stream.setEncoding('utf8')) text += String(chunk)
  return text
}
