import { clientOptions, type Command } from '../command.ts'

const model = { name: 'model' } as const

export const rulesCommand: Command = {
  name: 'rules',
  summary: 'Say how many replicas of a model are kept, and where',
  about:
    'A rule keeps a number of replicas of a model running, or one on every node, on the nodes that its selector matches.\n' +
    'It may come before its model.',
  options: clientOptions,
  examples: [
    'flotilla rules',
    'flotilla rules set qwen --min 1 --max 4 --selector tier=gpu',
    'flotilla rules set embedder --spread',
  ],
  subcommands: [
    {
      name: 'list',
      summary: 'All rules, and whether they are met',
      about:
        'READY is how many replicas serve of those that the rule asks for as things are. Below a rule stands what keeps it\n' +
        'from being met.',
      examples: ['flotilla rules', 'flotilla rules --json'],
    },
    {
      name: 'show',
      summary: 'One rule, and why it is not met',
      arguments: [model],
      examples: ['flotilla rules show qwen'],
    },
    {
      name: 'set',
      summary: 'Make the rule of a model, or change it',
      about:
        'What is not named stays as it is. A selector is a list of conditions, all of which must hold: tier=gpu,\n' +
        'zone=a|b (either), disk!=slow (any other, or none), !spot (no such label). A selector that would leave a model that serves\n' +
        'without a replica asks first.',
      arguments: [model],
      flags: {
        min: { value: 'n', help: 'Keep at least so many replicas, without any request', clear: 'none' },
        max: { value: 'n', help: 'Have at most so many; 0 is no cap', clear: 'none' },
        spread: {
          help: 'Keep exactly one on every node that matches, instead of a number; --min or --max takes it back',
        },
        selector: { value: 'selector', help: 'The nodes it may run on; any for all of them', clear: 'none' },
        policy: {
          value: 'policy',
          help: 'How a request finds its replica: least_loaded, round_robin or session',
          clear: 'none',
        },
        'scale-to-zero': {
          value: 'time',
          help: 'Keep none after so long without a request: 90s, 30m, 1h; never keeps the last one',
          clear: 'none',
        },
        yes: { help: 'Do not ask first when a model that serves would be left without a replica' },
      },
      examples: [
        'flotilla rules set qwen --min 2 --max 4',
        "flotilla rules set qwen --selector 'zone=a|b,!spot'",
        'flotilla rules set big --min 0 --scale-to-zero 30m',
      ],
    },
    {
      name: 'remove',
      summary: 'Remove the rule of a model',
      about: 'The model stays, and runs when it is asked.',
      arguments: [model],
      examples: ['flotilla rules remove qwen'],
    },
  ],
}
