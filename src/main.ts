import type { Command, Subcommand } from './cli/command.ts'
import { commandHelp, generalHelp, subcommandHelp } from './cli/help.ts'
import { parseArguments, type Invocation } from './cli/parse-arguments.ts'
import { options, type Config, type OptionName } from './cli/config/options.ts'
import { findConfigFile, fromEnvironment } from './cli/config/sources.ts'
import { toConfig } from './cli/config/to-config.ts'
import { AppError, messageOf } from './platform/errors.ts'
import { stderrOutput } from './platform/run/outputs.ts'
import { knowsUtf8, toAscii } from './platform/terminal-looks.ts'
import { version } from './platform/version.ts'

// A terminal that is gone or a disk that is full is no failure of what was asked for.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})

/** Arguments → config → start the roles asked for → wait → dispose. */
try {
  process.exitCode = await main(process.argv.slice(2))
} catch (error) {
  const text = shown(describe(error))
  // What is said of a command names it already: "flotilla up: …".
  stderrOutput().write(text.startsWith('flotilla ') ? `${text}\n` : `flotilla: ${text}\n`)
  process.exit(error instanceof AppError && error.code === 'usage' ? 2 : 1)
}

/** One clear line. What is nobody's mistake but ours is for us to read, so it comes with its stack only when asked for. */
function describe(error: unknown): string {
  if (error instanceof AppError) return error.message
  if (process.env['FLOTILLA_LOG_LEVEL'] === 'debug' && error instanceof Error) return error.stack ?? error.message
  return `something failed inside Flotilla: ${messageOf(error)}. FLOTILLA_LOG_LEVEL=debug shows more; please report it.`
}

async function main(args: readonly string[]): Promise<number> {
  const parsed = parseArguments(args)
  switch (parsed.kind) {
    case 'version':
      process.stdout.write(`${version}\n`)
      return 0
    case 'help':
      process.stdout.write(shown(helpText(parsed.command, parsed.subcommand)))
      return 0
    case 'run':
      return run(parsed, await loadConfig(parsed))
  }
}

/** What a terminal without UTF-8 can show. */
function shown(text: string): string {
  return knowsUtf8() ? text : toAscii(text)
}

function helpText(command: Command | undefined, subcommand: Subcommand | undefined): string {
  if (!command) return generalHelp()
  return subcommand ? subcommandHelp(command, subcommand) : commandHelp(command, process.env)
}

/** Each command is loaded only now: help and mistakes answer at once. */
async function run(invocation: Invocation, config: Config): Promise<number> {
  switch (invocation.command.name) {
    case 'up':
      return (await import('./app/commands/up.ts')).runUp(config)
    case 'frontend':
      return (await import('./app/commands/frontend.ts')).runFrontend(config)
    case 'gateway':
      return (await import('./app/commands/gateway.ts')).runGateway(config)
    case 'worker':
      return (await import('./app/commands/worker.ts')).runWorker(config)
    case 'nats':
      return (await import('./app/commands/nats.ts')).runNats(invocation, config)
    case 'db':
      return (await import('./app/commands/db.ts')).runDb(invocation, config)
    default:
      return (await import('./cli/run-client.ts')).runClient(invocation, config)
  }
}

async function loadConfig({ command, flags, configFile }: Invocation): Promise<Config> {
  const { env } = process
  const file = await findConfigFile(configFile, env, process.cwd())
  const environment = fromEnvironment(env, Object.keys(options) as OptionName[])
  return toConfig({ flags, environment, file, env, command: command.name })
}
