import { clientOptions, type Command } from '../command.ts'

export const statusCommand: Command = {
  name: 'status',
  summary: 'The whole cluster on one screen, and what is wrong',
  about:
    'Nodes, models with how many replicas serve of those that are asked for, and what is wrong and why. The exit code is 0\n' +
    'whenever the cluster could be asked.',
  options: clientOptions,
  examples: ['flotilla status', 'flotilla status --json'],
}
