import type { Command, Flag } from '../command.ts'

const apply: Flag = { help: 'Apply it to the cluster of this machine, or of FLOTILLA_URL, after showing the plan' }
const yes: Flag = { help: 'With --apply: do not ask first' }

export const importCommand: Command = {
  name: 'import',
  summary: 'Take over models and rules from LocalAI, llama-swap or Ollama',
  about:
    'Prints a document for flotilla plan and flotilla apply, and beside it, on stderr, what has no place here. Nothing\n' +
    'is changed, here or there, unless --apply is given.',
  options: ['key', 'json', 'data'],
  examples: [
    'flotilla import llama-swap config.yaml > cluster.yaml',
    'flotilla import ollama --apply',
    'flotilla import localai --url http://localai:8080 --key-file admin.key',
  ],
  subcommands: [
    {
      name: 'localai',
      summary: 'Nodes and rules from its API, models from its folder',
      about:
        'LocalAI in distributed mode. Labels, caps and budgets that were set on nodes, and rules, come from its API; with\n' +
        '--folder the models that its YAML files describe. Flotilla also reads its scheduling file as it is: apply -f.',
      flags: {
        url: { value: 'url', help: 'Where LocalAI serves' },
        'key-file': { value: 'path', help: 'File that holds a key of an admin of LocalAI' },
        folder: { value: 'folder', help: "LocalAI's folder of models" },
        apply,
        yes,
      },
      examples: [
        'flotilla import localai --url http://localai:8080 --key-file admin.key',
        'flotilla import localai --folder /models --apply',
      ],
    },
    {
      name: 'llama-swap',
      summary: 'Models from its configuration',
      about:
        'Commands of llama-server become models of that engine; any other command is run as it is. What is preloaded gets\n' +
        'a rule that keeps it, and a ttl becomes one that stops it when it is idle.',
      arguments: [{ name: 'file' }],
      flags: { apply, yes },
      examples: ['flotilla import llama-swap config.yaml', 'flotilla import llama-swap config.yaml --apply --yes'],
    },
    {
      name: 'ollama',
      summary: 'Models from its folder, or from one that runs',
      about:
        'From its folder, the one of this machine unless --folder names another: the GGUF files are run by llama.cpp where\n' +
        'they are. With --url the names that an Ollama lists, which machines then run with Ollama.',
      flags: {
        folder: { value: 'folder', help: "Ollama's folder of models" },
        url: { value: 'url', help: 'Where an Ollama serves' },
        apply,
        yes,
      },
      examples: ['flotilla import ollama', 'flotilla import ollama --url http://127.0.0.1:11434'],
    },
  ],
}
