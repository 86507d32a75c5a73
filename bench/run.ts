import fs from 'node:fs'
import path from 'node:path'
import { runChild } from '../scripts/lib/child.ts'

/**
 * `npm run bench [-- name … --flag …]`: each folder beside this file with a run.ts is a benchmark; they run one at a time.
 * What begins with dashes is for them.
 */
const folder = import.meta.dirname
const all = fs
  .globSync('*/run.ts', { cwd: folder })
  .map((file) => path.dirname(file))
  .toSorted()
const list = all.length > 0 ? `Benchmarks: ${all.join(', ')}` : 'There are no benchmarks yet.'

const args = process.argv.slice(2)
const flags = args.filter((arg) => arg.startsWith('-'))
const names = args.filter((arg) => !arg.startsWith('-'))
const unknown = names.filter((name) => !all.includes(name))
if (flags.includes('--help') || flags.includes('-h')) {
  console.log(
    `Usage: npm run bench [-- name …]\nRuns the named benchmarks, or all of them, one after another.\n${list}\ngateway takes --with-portkey and --with-undici (fetches and measures them, too), --write (docs/reference/performance.md), --json=<file>, --rounds=<n>, --streams=<n>, --churn=<s> and --requests=<n>.\nllama takes --llama-server=<program>, --model=<file.gguf> and --threads=<n>.\nscale takes --write (draws docs/images/scale-*.svg) and --postgres.`,
  )
} else if (unknown.length > 0) {
  console.error(`Unknown benchmark: ${unknown.join(', ')}. ${list}`)
  process.exitCode = 2
} else {
  if (all.length === 0) console.log(list)
  process.exitCode = await runInTurn(names.length > 0 ? names : all)
}

/** All are run even if one fails, so that one broken benchmark does not hide the others. */
async function runInTurn(names: readonly string[]): Promise<number> {
  const failed: string[] = []
  for (const name of names) {
    console.log(`\n── ${name}`)
    const { code } = await runChild(process.execPath, [path.join(folder, name, 'run.ts'), ...flags], {
      stdio: 'inherit',
    })
    if (code !== 0) failed.push(`${name} (exit code ${code})`)
  }
  if (failed.length > 0) console.error(`\nFailed: ${failed.join(', ')}`)
  return failed.length > 0 ? 1 : 0
}
