import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { cpus, loadavg, release, totalmem } from 'node:os'
import { fileURLToPath } from 'node:url'
import { version } from '../../src/platform/version.ts'
import { commandLine, helpText, isMeant, parseArguments, type Arguments } from './arguments.ts'
import type { Fault } from './fault.ts'
import { Stage } from './harness/stage.ts'
import { allFaults } from './kinds/all.ts'
import { page, rowLine, rowsOf, titleLine, type Circumstances } from './report.ts'
import { runFaults, type Outcome } from './run-faults.ts'

/** `npm run faults`: 0 when all held, 1 when something did not, 2 when the command line makes no sense. */
const PAGE = fileURLToPath(new URL('../../docs/reference/faults.md', import.meta.url))
const parsed = parseArguments(process.argv.slice(2), allFaults)
if (parsed.kind === 'help') print(helpText(allFaults))
else if (parsed.kind === 'mistake') {
  process.stderr.write(`${parsed.message}\n`)
  process.exitCode = 2
} else process.exitCode = await run(parsed.arguments)

async function run(given: Arguments): Promise<number> {
  const faults = allFaults.filter((fault) => isMeant(fault, given.only))
  const loadBefore = loadavg()[0]!
  const outcomes: Outcome[] = []
  const stage = new Stage(given.isLong)
  endWith(stage)
  let postgres = ''
  try {
    postgres = await storeVersion(stage)
    print(`${commandLine(given)}\n\n${titleLine()}\n`)
    for (let round = 0; round < given.rounds; round += 1) {
      for (const fault of faults) outcomes.push(await strike(stage, fault, given))
    }
  } finally {
    await stage.dispose()
  }
  const rows = rowsOf(outcomes)
  if (given.rounds > 1) print(`\nAll ${given.rounds} rounds\n\n${titleLine()}\n${rows.map(rowLine).join('\n')}\n`)
  if (given.isWritten) writeFileSync(PAGE, page(rows, circumstances(commandLine(given), postgres, loadBefore)))
  return rows.every(({ problems }) => problems.length === 0) ? 0 : 1
}

async function strike(stage: Stage, fault: Fault, { isLong }: Arguments): Promise<Outcome> {
  const { cluster, load } = await stage.ready()
  const [outcome] = await runFaults([fault], cluster, load, { isLong })
  print(`${rowLine(rowsOf([outcome!])[0]!)}\n`)
  for (const problem of outcome!.problems) print(`    ${problem}\n`)
  // What did not mend must not count against the next one.
  if (outcome!.convergedMs === undefined) await stage.dispose()
  return outcome!
}

async function storeVersion(stage: Stage): Promise<string> {
  const { cluster } = await stage.ready()
  const [row] = await cluster.ground.rows<{ server_version: string }>('show server_version')
  return row!.server_version
}

/** Nothing is left behind by Ctrl-C either. */
function endWith(stage: Stage): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => void stage.dispose().finally(() => process.exit(1)))
  }
}

function circumstances(command: string, postgres: string, loadBefore: number): Circumstances {
  const [cpu] = cpus()
  const versionOf = (program: string): string => execFileSync(program, ['--version'], { encoding: 'utf8' }).trim()
  const commit = execFileSync('git', ['describe', '--always', '--dirty'], { encoding: 'utf8' }).trim()
  const gib = Math.round(totalmem() / 2 ** 30)
  return {
    command,
    date: new Date().toISOString().slice(0, 16).replace('T', ' '),
    machine: `${cpus().length} cores (${cpu!.model.trim()}), ${gib} GiB, Linux ${release()}`,
    versions: `Flotilla ${version} (${commit}), Node ${process.version}, PostgreSQL ${postgres}, ${versionOf('nats-server')}`,
    load: `other work on the machine: a load average of ${loadBefore.toFixed(1)} before the run`,
  }
}

function print(text: string): void {
  process.stdout.write(text)
}
