import { parseArguments } from '../../../src/cli/parse-arguments.ts'
import { runClient } from '../../../src/cli/run-client.ts'
import type { Terminal } from '../../../src/cli/terminal/terminal.ts'
import { options, type OptionName } from '../../../src/cli/config/options.ts'
import { fromEnvironment } from '../../../src/cli/config/sources.ts'
import { toConfig } from '../../../src/cli/config/to-config.ts'
import type { Clock } from '../../../src/platform/run/clock.ts'
import { AppError } from '../../../src/platform/errors.ts'
import { runDb } from '../../../src/app/commands/db.ts'

export interface Said {
  code: number
  stdout: string
  stderr: string
}

interface Surroundings {
  clock: Clock
  env?: Record<string, string>
  terminal?: Partial<Terminal>
}

/** Runs a command as the program does, up to the words for a failure and the exit code. `said` grows until it ends. */
export function runCommand(args: readonly string[], around: Surroundings): { said: Said; ended: Promise<Said> } {
  const said: Said = { code: 0, stdout: '', stderr: '' }
  return { said, ended: run(args, around, said) }
}

async function run(args: readonly string[], { clock, env = {}, terminal }: Surroundings, said: Said): Promise<Said> {
  try {
    const invocation = parseArguments(args)
    if (invocation.kind !== 'run') throw new Error(`not a command to run: ${args.join(' ')}`)
    const environment = fromEnvironment(env, Object.keys(options) as OptionName[])
    const { flags, command } = invocation
    const config = toConfig({ flags, environment, file: undefined, env, command: command.name })
    const heard = { ...ears(said), ...terminal }
    said.code = await (command.name === 'db'
      ? runDb(invocation, config, heard)
      : runClient(invocation, config, heard, clock))
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    said.stderr += `${error.message}\n`
    said.code = error.code === 'usage' ? 2 : 1
  }
  return said
}

/** A terminal that nobody sits at. */
function ears(said: Said): Terminal {
  return {
    columns: 80,
    colour: false,
    interactive: false,
    screen: false,
    print: (text) => void (said.stdout += `${text}\n`),
    note: (text) => void (said.stderr += `${text}\n`),
    live: (text) => void (said.stderr += text === '' ? '' : `${text}\n`),
    ask: () => Promise.reject(new Error('nobody was expected to be asked')),
    write: (text) => void (said.stdout += text),
    readLine: async () => undefined,
    readInput: async () => '',
    onInterrupt: () => () => {},
    interrupted: () => new AbortController().signal,
  }
}
