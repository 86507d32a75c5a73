import { clientOptions, type Command, type Flag } from '../command.ts'
import { allFlag, nodeFlag } from '../node-flags.ts'

const engine = { name: 'engine' } as const
const noWait: Flag = { help: 'Do not wait for the end of it' }

const install = {
  arguments: [engine],
  flags: {
    node: nodeFlag,
    all: allFlag,
    archive: {
      value: 'url',
      help: 'What to unpack: a .tar, .tar.gz, .tar.zst or .zip, by its URL or as file:/… on the node',
    },
    sha256: { value: 'hex', help: 'What the archive has to be, as sha256sum prints it; needed with --archive' },
    'no-wait': noWait,
  },
  rest: 'command',
} as const

export const enginesCommand: Command = {
  name: 'engines',
  summary: 'See, install and delete the programs that run models',
  about: 'An engine is known by the name of its profile: built-in ones, and those of your own on each node.',
  options: clientOptions,
  examples: [
    'flotilla engines',
    'flotilla engines install llama-server --all \\\n    --archive https://host/llama.tar.gz --sha256 9f86d0…',
  ],
  subcommands: [
    {
      name: 'list',
      summary: 'All engines: where they can run, and why not elsewhere',
      flags: { node: nodeFlag },
      examples: ['flotilla engines', 'flotilla engines list --node gpu-1'],
    },
    {
      name: 'show',
      summary: 'Everything about one engine',
      arguments: [engine],
      flags: { node: nodeFlag },
      examples: ['flotilla engines show vllm'],
    },
    {
      name: 'install',
      summary: 'Install an engine',
      about:
        'Installs what the profile of the engine says, an archive, or what a command of yours installs on the node. ' +
        'The only node there is need not be named. llama-server is built from source, in minutes. ' +
        'Waits for the end of it; Ctrl-C stops the waiting only.',
      ...install,
      examples: [
        'flotilla engines install llama-server',
        'flotilla engines install llama-server --all \\\n    --archive https://host/llama.tar.gz --sha256 9f86d0…',
        'flotilla engines install vllm --node gpu-1 -- pip install vllm',
      ],
    },
    {
      name: 'upgrade',
      summary: 'Install another version of an engine',
      about: 'As install does it. Stops the replicas of the engine first, and lists them.',
      ...install,
      examples: ['flotilla engines upgrade llama-server --node gpu-1'],
    },
    {
      name: 'delete',
      summary: 'Delete an engine that was installed',
      about: 'Stops the replicas of the engine first, and lists them. Asks before it does anything.',
      arguments: [engine],
      oneOf: ['node', 'all'],
      flags: { node: nodeFlag, all: allFlag, yes: { help: 'Do not ask first' }, 'no-wait': noWait },
      examples: ['flotilla engines delete llama-server --node gpu-1', 'flotilla engines delete vllm --all --yes'],
    },
  ],
}
