import { configurationReference } from './config/reference.ts'
import { commands } from './commands.ts'
import { commandHelp, subcommandHelp } from './help.ts'

/** The text of docs/reference/cli.md: what `--help` says of every command. */
export function cliReference(): string {
  // A fixed home in place of this machine's.
  const env = { HOME: '~' }
  const parts = commands.map((command) => {
    const below = (command.subcommands ?? []).map((subcommand) => {
      const title = `### flotilla ${command.name} ${subcommand.name}`
      return `${title}\n\n${fenced(subcommandHelp(command, subcommand))}`
    })
    // The default is the name of the machine that runs this.
    const text = commandHelp(command, env).replace(
      /( {2}--node-name <name>\n)(?: {3,}.*\n)+/,
      '$1      Name of this machine in the cluster\n',
    )
    return [`## flotilla ${command.name}\n\n${fenced(text)}`, ...below].join('\n')
  })
  return `${HEAD}\n${parts.join('\n')}`
}

/** Beside it: which commands take an option. */
export function optionsReference(): string {
  return configurationReference((name) =>
    commands.filter(({ options }) => (options as readonly string[]).includes(name)).map((command) => command.name),
  )
}

function fenced(text: string): string {
  return `\`\`\`\n${text.trimEnd()}\n\`\`\`\n`
}

const HEAD = `# The command line

Generated from \`src/cli\`; a test keeps it fresh. \`flotilla <command> --help\` says the same.
`
