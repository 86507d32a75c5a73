import { clientOptions, type Command } from '../command.ts'

export const topCommand: Command = {
  name: 'top',
  summary: 'Nodes, devices, models and their rates, live',
  about:
    'Shows the cluster as it changes, until q or Ctrl-C. s sorts by the next column, r turns the order around. Elsewhere than\n' +
    'on a terminal, and with --once, it prints the current state and ends.',
  flags: {
    once: { help: 'Print the current state and end' },
    sort: { value: 'column', help: 'The column to sort by: name, rate, busy or memory (default rate)' },
  },
  options: clientOptions,
  examples: ['flotilla top', 'flotilla top --sort memory', 'flotilla top --once'],
}
