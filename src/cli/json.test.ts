import { expect, test } from 'vitest'
import { commands } from './commands.ts'
import { parseArguments } from './parse-arguments.ts'

/** What they print is no answer to a question: servers that log, and a script for a shell. */
const WITHOUT_JSON = new Set(['up', 'frontend', 'gateway', 'worker', 'completion'])

test('every command that answers does so in JSON when asked, with every subcommand', () => {
  for (const command of commands) {
    const { name, options, subcommands } = command
    expect(options.includes('json'), name).toBe(!WITHOUT_JSON.has(name))
    if (!options.includes('json')) continue
    for (const syntax of subcommands ?? [command]) {
      const { arguments: args = [], oneOf: [flag] = [] } = syntax
      const words = args.filter(({ optional }) => !optional).map(({ values }) => values?.[0] ?? 'x')
      const needed = flag === undefined ? [] : [`--${flag}`, ...(syntax.flags?.[flag]?.value ? ['x'] : [])]
      const line = [name, ...(subcommands ? [syntax.name] : []), ...words, ...needed, '--json']
      expect(parseArguments(line), line.join(' ')).toMatchObject({ kind: 'run' })
    }
  }
})
