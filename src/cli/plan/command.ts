import { clientOptions, type Command, type Flag } from '../command.ts'

const file: Flag = { value: 'file', short: 'f', help: 'The document: YAML with models, rules and nodes' }
const prune: Flag = { help: 'Also remove what the document does not list' }

export const planCommand: Command = {
  name: 'plan',
  summary: 'Show what a document would change, without changing it',
  about:
    'A document lists models, rules and settings of nodes. The plan shows what differs from the cluster and what would\n' +
    'follow: where replicas start, what is stopped for them, how much is moved, and what stays impossible and why.\n' +
    'What the document does not list stays, unless --prune is given.',
  options: clientOptions,
  flags: {
    file,
    prune,
    'detailed-exitcode': { help: 'End with exit code 2 when there is something to change' },
  },
  oneOf: ['file'],
  examples: ['flotilla plan -f cluster.yaml', 'flotilla plan -f cluster.yaml --prune --detailed-exitcode'],
}

export const applyCommand: Command = {
  name: 'apply',
  summary: 'Change the cluster to match a document',
  about:
    'Shows the plan, asks, and applies it all or nothing. If the cluster has changed since the plan was made, it\n' +
    'applies nothing, shows the new plan, and ends with exit code 3.',
  options: clientOptions,
  flags: { file, prune, yes: { help: 'Do not ask first' } },
  oneOf: ['file'],
  examples: ['flotilla apply -f cluster.yaml', 'flotilla apply -f cluster.yaml --prune --yes'],
}

export const exportCommand: Command = {
  name: 'export',
  summary: 'Print all models, rules and settings of nodes as a document',
  about: 'Applied where it comes from, it changes nothing.',
  options: clientOptions,
  examples: ['flotilla export > cluster.yaml', 'flotilla export --json'],
}

export const whatIfCommand: Command = {
  name: 'whatif',
  summary: 'Show what would follow if machines went or came, or rules changed',
  about: 'Takes several of these flags at once. Changes nothing.',
  options: clientOptions,
  flags: {
    drain: { value: 'node', many: true, help: 'This node is drained' },
    'node-lost': { value: 'node', many: true, help: 'This machine is gone for good' },
    'add-node': { value: 'gpus', many: true, help: 'One more machine: 24GB, 2x24GB, 8x80GiB, or cpu' },
    min: { value: 'model=n', many: true, help: 'The rule of a model keeps so many replicas' },
  },
  examples: ['flotilla whatif --node-lost thor', 'flotilla whatif --add-node 2x24GB --min llama=3'],
}
