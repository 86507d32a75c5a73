import { parseArgs } from 'node:util'

export interface FuzzArguments {
  cases: number
  seed: number
  /** Empty: all. */
  targets: readonly string[]
  jobs: number
  /** What the hostile node says. */
  messages: number
}

/** Is named as a target; it needs a frontend and takes messages instead of cases. */
export const HOSTILE_NODE = 'hostile-node'

export const FUZZ_HELP = `Tries every parser of bytes from outside with spoiled and random bytes.

  npm run fuzz                      a million cases and more, over all targets; writes docs/reference/fuzz.md
  npm run fuzz -- --target gguf     one target alone; several with commas
  npm run fuzz -- --cases 5000000   so many cases in all
  npm run fuzz -- --seed 7          other cases than those of seed 1
  npm run fuzz -- --jobs 4          so many targets at a time; without it one for each core
  npm run fuzz -- --target hostile-node --messages 1000000
                                    one approved node against a real frontend; 200,000 messages without --messages

A case that fails is made small and kept in fuzz/regressions, which npm test tries again.
`

const MOST_CASES = 1_000_000_000

/** What is wrong with them is a text. */
export function readArguments(args: readonly string[], cores: number): FuzzArguments | 'help' | { problem: string } {
  let values
  try {
    ;({ values } = parseArgs({
      args: [...args],
      options: {
        cases: { type: 'string', default: '1050000' },
        seed: { type: 'string', default: '1' },
        target: { type: 'string', default: '' },
        jobs: { type: 'string', default: String(cores) },
        messages: { type: 'string', default: '200000' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    }))
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) }
  }
  if (values.help) return 'help'
  const [cases, seed, jobs, messages] = [values.cases, values.seed, values.jobs, values.messages].map(wholeNumber)
  if (cases === undefined || cases < 1 || cases > MOST_CASES) return { problem: '--cases must be a number of cases.' }
  if (seed === undefined) return { problem: '--seed must be a whole number.' }
  if (jobs === undefined || jobs < 1 || jobs > 64) return { problem: '--jobs must be a number from 1 to 64.' }
  if (messages === undefined || messages < 1 || messages > MOST_CASES) {
    return { problem: '--messages must be a number of messages.' }
  }
  return { cases, seed, jobs, messages, targets: values.target.split(',').filter(Boolean) }
}

function wholeNumber(text: string): number | undefined {
  return /^\d{1,10}$/.test(text) ? Number(text) : undefined
}
