import { options, variableOf, flagOf, type Env, type Option } from './options.ts'

/** The text of docs/reference/configuration.md: every option with its names, default and meaning. */
export function configurationReference(commandsOf: (name: string) => readonly string[]): string {
  const rows = Object.entries(options as Record<string, Option<unknown>>).map(([name, option]) => {
    const names = [`\`${flagOf(name)}\``, `\`${variableOf(name)}\``, ...(option.alias ? [`\`${option.alias}\``] : [])]
    const commands = commandsOf(name)
    return `### ${name}\n\n${cell(option.help)}.\n\n| value | default | written as | taken by |\n|---|---|---|---|\n| \`${cell(option.value)}\` | ${defaultText(name, option)} | ${names.join('<br>')} | ${commands.join(', ')} |\n`
  })
  return `${HEAD}\n${rows.join('\n')}`
}

function defaultText(name: string, option: Option<unknown>): string {
  // Fixed values in place of this machine's defaults.
  const env: Env = { HOME: '~', XDG_DATA_HOME: undefined }
  const usual = name === 'node_name' ? 'the host name' : option.default(env)
  const own = Object.entries(option.defaultIn ?? {}).map(([command, value]) => `\`${value}\` in ${command}`)
  return [usual ? (name === 'node_name' ? usual : `\`${usual}\``) : 'none', ...own].join(', ')
}

/** A bar would end the cell. */
function cell(text: string): string {
  return text.replaceAll('|', String.raw`\|`)
}

const HEAD = `# Configuration

Generated from \`src/cli/config\`; a test keeps it fresh. Each option is a flag (\`--bus-listen\`), a variable (\`FLOTILLA_BUS_LISTEN\`) and a key of
\`flotilla.yaml\` (\`bus_listen\`). A flag wins over the environment, the environment over the file. The file is the one of \`--config\`, else
\`./flotilla.yaml\`, else \`~/.config/flotilla/flotilla.yaml\`; [config.example.yaml](../../config.example.yaml) has them all to begin with. Names
that begin with \`LOCALAI_\` are LocalAI's, read to make [moving from LocalAI](../guide/moving-in.md) easier.
`
