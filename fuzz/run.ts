import { writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { FUZZ_HELP, HOSTILE_NODE, readArguments, type FuzzArguments } from './arguments.ts'
import { fuzzTarget, type FuzzRun } from './fuzz-target.ts'
import { hostileNode, type HostileRun } from './hostile/hostile-node.ts'
import { fuzzPage } from './page.ts'
import { keepRegression, regressionsOf } from './regressions.ts'
import { fuzzTargets } from './targets.ts'
import type { FuzzTarget } from './target.ts'

/** Where the threads find them. */
const TARGETS = new URL('targets.ts', import.meta.url).href
const PAGE = fileURLToPath(new URL('../docs/reference/fuzz.md', import.meta.url))

const given = readArguments(process.argv.slice(2), availableParallelism())
if (given === 'help') process.stdout.write(FUZZ_HELP)
else if ('problem' in given) {
  process.stderr.write(`${given.problem}\n\n${FUZZ_HELP}`)
  process.exitCode = 2
} else process.exitCode = await fuzz(given)

async function fuzz({ cases, seed, jobs, messages, targets }: FuzzArguments): Promise<number> {
  const known = [...fuzzTargets.map(({ name }) => name), HOSTILE_NODE]
  const unknown = targets.filter((name) => !known.includes(name))
  if (unknown.length > 0) {
    process.stderr.write(`There is no target ${unknown.join(', ')}. Known are ${known.join(', ')}.\n`)
    return 2
  }
  const chosen = fuzzTargets.filter(({ name }) => targets.length === 0 || targets.includes(name))
  const shares = chosen.reduce((sum, { share = 1 }) => sum + share, 0)
  const runs: FuzzRun[] = []
  const waiting = [...chosen]
  const next = async (): Promise<void> => {
    for (let target = waiting.shift(); target; target = waiting.shift()) {
      const ours = Math.ceil((cases * (target.share ?? 1)) / shares)
      runs.push(report(target, await fuzzTarget(target, { targets: TARGETS, cases: ours, seed })))
    }
  }
  await Promise.all(Array.from({ length: jobs }, next))
  const total = runs.reduce((sum, run) => sum + run.cases, 0)
  const found = runs.filter(({ finding }) => finding).length
  process.stdout.write(`${total} cases, ${found} findings\n`)
  const isAll = targets.length === 0
  // By itself: what it measures would be the other targets.
  const hostile =
    isAll || targets.includes(HOSTILE_NODE) ? reportHostile(await hostileNode({ messages, seed })) : undefined
  if (isAll && hostile) {
    const regressions = (name: string): number => regressionsOf(name).length
    const day = new Date().toISOString().slice(0, 10)
    writeFileSync(PAGE, fuzzPage({ targets: chosen, runs, seed, day, regressions, hostile }))
  }
  return found === 0 && hostile?.finding === undefined ? 0 : 1
}

function report({ name }: FuzzTarget, run: FuzzRun): FuzzRun {
  process.stdout.write(
    `${name.padEnd(24)} ${String(run.cases).padStart(9)} cases ${(run.ms / 1000).toFixed(1).padStart(7)} s\n`,
  )
  if (run.finding) process.stdout.write(`  ${run.finding.why}\n  kept as ${keepRegression(name, run.finding)}\n`)
  return run
}

function reportHostile(run: HostileRun): HostileRun {
  const { messages, ms, oldestHeartbeatMs, slowestAnswerMs, logBytes, finding } = run
  process.stdout.write(
    `${HOSTILE_NODE.padEnd(24)} ${String(messages).padStart(9)} messages ${(ms / 1000).toFixed(1).padStart(4)} s; the other node heard ${oldestHeartbeatMs} ms ago at most, answers within ${slowestAnswerMs} ms, ${logBytes} bytes of log\n`,
  )
  if (finding !== undefined) process.stdout.write(`  ${finding}\n`)
  return run
}
