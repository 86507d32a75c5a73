import { options, type Env, type Option } from './options.ts'

/** The text of config.example.yaml: every option with its help and its default, commented out. */
export function exampleConfig(): string {
  // Fixed values in place of this machine's defaults.
  const env: Env = { HOME: '~', XDG_DATA_HOME: undefined }
  const entries = Object.entries(options as Record<string, Option<unknown>>).map(([name, option]) => {
    const own = Object.entries(option.defaultIn ?? {}).map(([command, value]) => `, ${value} in ${command}`)
    const help = own.length > 0 ? `${option.help}. Default: ${option.default(env)}${own.join('')}` : option.help
    return `# ${help}.\n# ${name}: ${fixedDefault(name, option, env) ?? `<${option.value}>`}\n`
  })
  return `${HEAD}\n${entries.join('\n')}`
}

function fixedDefault(name: string, option: Option<unknown>, env: Env): string | undefined {
  if (name === 'node_name') return '<host name>'
  return option.defaultIn || option.default(env) === '' ? undefined : option.default(env)
}

const HEAD = `# Flotilla's options. Copy this file to ./flotilla.yaml or ~/.config/flotilla/flotilla.yaml and uncomment what you change.
# A flag (--bus-listen) wins over the environment (FLOTILLA_BUS_LISTEN), which wins over this file (bus_listen).
# A value in <angle brackets> has no fixed default.
`
