import { checks, fixes } from './lib/checks.ts'
import { runStep } from './lib/step.ts'

/** `npm run check` looks, `npm run check -- --fix` also puts right what can be put right by a program. */
const args = process.argv.slice(2)
const unknown = args.filter((arg) => arg !== '--fix')
if (unknown.length > 0) {
  console.error(`Unknown argument ${unknown.join(' ')}. Usage: npm run check [-- --fix]`)
  process.exitCode = 2
} else {
  const results = args.includes('--fix') ? await runInTurn() : await Promise.all(checks.map(runStep))
  if (results.includes(false)) process.exitCode = 1
}

async function runInTurn(): Promise<boolean[]> {
  const results: boolean[] = []
  for (const fix of fixes) results.push(await runStep(fix))
  return results
}
