import { clientOptions, type Command } from '../command.ts'
import { nodeFlag } from '../node-flags.ts'

export const logsCommand: Command = {
  name: 'logs',
  summary: 'See what engines print',
  about:
    'A model names all its replicas, model#n one of them; their lines are merged by time. Each line is shown with its time on ' +
    'this machine, its replica and, with several nodes, its node; "!" marks stderr. Logs are kept when a replica ends: at ' +
    'most 1000 lines of each. Without a model it lists what has logs. With --json each line is an object of its own.',
  options: clientOptions,
  arguments: [{ name: 'model[#n]', optional: true }],
  flags: {
    follow: {
      short: 'f',
      help: 'Go on with what is still to come, also of replicas that start later; Ctrl-C ends it',
    },
    lines: { short: 'n', value: 'n', help: 'The last n lines; by default all that there are' },
    node: nodeFlag,
    stream: { value: 'name', help: 'Only stdout or only stderr' },
    grep: { value: 'text', help: 'Only lines that contain this, whatever the case of its letters' },
    after: { value: 'seq', help: 'Only lines after that one of a node; --json shows the seq of each' },
  },
  examples: [
    'flotilla logs',
    'flotilla logs qwen -f',
    'flotilla logs qwen#1 --node gpu-1 --stream stderr --lines 50',
    'flotilla logs qwen --grep "out of memory"',
  ],
}
