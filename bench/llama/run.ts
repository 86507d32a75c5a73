import { existsSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { llamaLibrary, skipper } from '../../test/support/worker/llama-engine.ts'
import { askFor, firstTokenMs } from './ask.ts'
import { prompts } from './prompts.ts'
import { printTable, type Row } from './table.ts'
import { findLlamaServer, ours, startSide, theirs, type Side } from './sides.ts'

/**
 * Our engine beside llama-server: the same model, threads, context and number of slots, the same requests over the same
 * client, turn by turn in one run, so that whatever else the machine does falls on both.
 *
 *   npm run bench -- llama [--llama-server=<program>] [--model=<file.gguf>] [--threads=<n>]
 *
 * llama-server is taken from PATH, or from what `flotilla engines install llama-server` has built on this machine.
 */
const ROUNDS = 5
const CLIENTS = [1, 4, 16]
/** For each round and number of clients. */
const ROUND_MS = 1500
/** No round starts later than this: a slow machine gets fewer rounds, never a longer run. */
const LAST_START_MS = 75_000

const { values: given } = parseArgs({
  options: { 'llama-server': { type: 'string' }, model: { type: 'string' }, threads: { type: 'string', default: '1' } },
})
const model = given.model ?? skipper
const program = given['llama-server'] ?? findLlamaServer(process.env)
if (program === undefined || !existsSync(program)) {
  console.log(
    'There is no llama-server to compare with: build one with "flotilla engines install llama-server", put one',
  )
  console.log('into PATH, or name it with --llama-server=<program>. Measured is our engine alone.')
}

const settings = { model, threads: Number(given.threads), parallel: 4, context: 1024 }
const sides: Side[] = [await startSide(ours(await llamaLibrary(), settings))]
const startMs = performance.now()
try {
  if (program !== undefined && existsSync(program)) sides.push(await startSide(theirs(program, settings)))
  const rows = await measure()
  printTable(
    sides.map(({ name }) => name),
    rows,
  )
} finally {
  for (const side of sides) await side.end()
}

async function measure(): Promise<Row[]> {
  const loaded = sides.map((side) => side.rssMb())
  const speeds = CLIENTS.map(() => sides.map((): number[] => []))
  const costs = CLIENTS.map(() => sides.map((): number[] => []))
  const cold = sides.map((): number[] => [])
  const shared = sides.map((): number[] => [])
  let round = 0
  // One round more than is counted: the first warms up compilers and caches.
  for (; round <= ROUNDS && performance.now() - startMs < LAST_START_MS; round += 1) {
    for (const index of round % 2 === 0 ? sides.keys() : [...sides.keys()].toReversed()) {
      const side = sides[index]!
      const add = (into: number[], value: number): void => void (round > 0 && into.push(value))
      for (const [at, clients] of CLIENTS.entries()) {
        const beforeMs = side.cpuMs()
        const { tokens, tookMs } = await askFor(side.url, clients, ROUND_MS)
        add(speeds[at]![index]!, (1000 * tokens) / tookMs)
        add(costs[at]![index]!, (1000 * (side.cpuMs() - beforeMs)) / tokens)
      }
      add(cold[index]!, await firstTokenMs(side.url, prompts.unseen(round)))
      // The one before has left the prefix behind.
      add(shared[index]!, await firstTokenMs(side.url, prompts.followUp(round)))
    }
  }
  console.log(`medians of ${round - 1} interleaved rounds, ${settings.threads} threads, ${settings.parallel} slots\n`)
  return [
    ...CLIENTS.map((clients, at) => ({
      name: `${clients} client${clients > 1 ? 's' : ''}, tokens/s`,
      values: speeds[at]!.map(median),
      digits: 0,
    })),
    // Says the same where other programs take turns on the cores.
    ...CLIENTS.map((clients, at) => ({
      name: `${clients} client${clients > 1 ? 's' : ''}, processor time of a token, µs`,
      values: costs[at]!.map(median),
      digits: 0,
    })),
    { name: `first token, ${prompts.words} words never seen, ms`, values: cold.map(median), digits: 1 },
    { name: 'first token, all but the last words seen, ms', values: shared.map(median), digits: 1 },
    { name: 'memory once loaded, MB (RSS)', values: loaded, digits: 0 },
    { name: 'memory at the end, MB (RSS)', values: sides.map((side) => side.rssMb()), digits: 0 },
  ]
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN
}
