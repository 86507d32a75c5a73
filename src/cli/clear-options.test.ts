import { expect, test } from 'vitest'
import type { Command, Subcommand } from './command.ts'
import { commands } from './commands.ts'
import { subcommandHelp } from './help.ts'

/** Commands that change a setting which stays until it is changed again. */
const SETTING = ['rules set', 'models set', 'nodes label', 'nodes slots', 'nodes budget']

/** Settings that cannot be empty, or of which each value takes another one back. */
const NEVER_EMPTY = new Set(['models set --engine', 'rules set --spread'])

const all = commands.flatMap((command) =>
  (command.subcommands ?? []).map((subcommand) => ({
    command,
    subcommand,
    name: `${command.name} ${subcommand.name}`,
  })),
)

test('what sets something is listed here', () => {
  const setters = all.filter(({ subcommand }) => ['set', 'label', 'slots', 'budget'].includes(subcommand.name))
  expect(setters.map(({ name }) => name).toSorted()).toEqual(SETTING.toSorted())
})

test.each(all.filter(({ name }) => SETTING.includes(name)))(
  'every option of $name can be taken back, and its help says how',
  ({ command, subcommand, name }: { command: Command; subcommand: Subcommand; name: string }) => {
    const help = subcommandHelp(command, subcommand)
    for (const [flag, { value, clear }] of Object.entries(subcommand.flags ?? {})) {
      if (value === undefined || NEVER_EMPTY.has(`${name} --${flag}`)) continue
      expect(clear, `${name} --${flag}`).toBeDefined()
      expect(help.replaceAll(/\s+/g, ' ')).toContain(`${clear} takes it back`)
    }
    const values = (subcommand.arguments ?? []).filter(({ optional }) => optional)
    for (const { name: argument, clear } of values) expect(clear, `${name} <${argument}>`).toBeDefined()
  },
)
