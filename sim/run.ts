import { availableParallelism } from 'node:os'
import { commitText } from './commit.ts'
import { faultTexts } from './report/fault-texts.ts'
import { plantedBugs } from './planted/planted.ts'
import { showPlanted } from './planted/show-planted.ts'
import { runSeeds } from './run-seeds.ts'
import { Pool } from './soak/soak-pool.ts'

const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    // Ctrl-C twice: no more patience.
    if (stop.signal.aborted) process.exit(130)
    stop.abort()
  })
}

using pool = new Pool()
const print = (text: string): void => void process.stdout.write(text)
const cores = availableParallelism()
process.exitCode = await runSeeds(process.argv.slice(2), {
  choices: { faults: faultTexts, bugs: Object.fromEntries(plantedBugs.map(({ name, what }) => [name, what])) },
  run: (order, signal) => pool.run(order, signal),
  showPlanted: ({ bug, jobs = cores }) =>
    showPlanted({
      bug,
      jobs,
      run: (order) => pool.run(order, stop.signal),
      print,
      isCalledOff: () => stop.signal.aborted,
    }),
  print,
  complain: (text) => void process.stderr.write(text),
  isTerminal: process.stderr.isTTY,
  nowMs: () => performance.now(),
  cores,
  newSeed: () => Math.floor(Date.now() / 1000) % 2 ** 31,
  commit: commitText,
  signal: stop.signal,
})
