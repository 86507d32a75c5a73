import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { codeBlocks } from './code-blocks.ts'
import type { Machine } from './machine.ts'

export interface PageRun {
  /** How many blocks were run, and how many were not, with the reason. */
  run: number
  notRun: string[]
}

/** Does what a page says, block by block; throws at the first that fails, with its line. */
export async function runPage(file: string, machines: Readonly<Record<string, Machine>>): Promise<PageRun> {
  const result: PageRun = { run: 0, notRun: [] }
  for (const { line, code, machine: name, kind, note } of codeBlocks(readFileSync(file, 'utf8'))) {
    const machine = machines[name]
    if (!machine) throw new Error(`${file}:${line}: there is no machine "${name}"`)
    try {
      if (kind === 'file') writeFileSync(join(machine.folder, note), `${code}\n`)
      else if (kind === 'runs') await machine.run(code)
      else if (kind === 'serves') await serve(machine, code, machines)
    } catch (error) {
      throw new Error(`${file}:${line}: ${(error as Error).message}`, { cause: error })
    }
    if (kind === 'not run') result.notRun.push(`${file}:${line}: ${note}`)
    else result.run += 1
  }
  return result
}

/** A worker prints nothing: it is there when the cluster knows it. */
async function serve(machine: Machine, code: string, { first }: Readonly<Record<string, Machine>>): Promise<void> {
  const isKnown = async (): Promise<boolean> =>
    (await first!.run('./flotilla nodes --json')).includes(`"${machine.name}"`)
  await machine.serve(code, /\bflotilla worker\b/.test(code) ? isKnown : undefined)
}
