import { clientOptions, type Command } from '../command.ts'

export const topCommand: Command = {
  name: 'top',
  summary: 'Nodes, devices, models and their rates, live',
  about:
    'Shows the cluster as it changes, until q or Ctrl-C. s sorts by the next column, r turns the order around. Elsewhere than\n' +
    'on a terminal, and with --once, it prints what is now and ends.',
  flags: {
    once: { help: 'Print what is now and end' },
    sort: { value: 'column', help: 'By what rows are sorted: name, rate, busy or memory (default rate)' },
  },
  options: clientOptions,
  examples: ['flotilla top', 'flotilla top --sort memory', 'flotilla top --once'],
}
