import { clientOptions, type Command, type Flag } from '../command.ts'
import { allFlag, nodeFlag } from '../node-flags.ts'

const model = { name: 'model' } as const
const later: Flag = { help: 'Accept an engine, an option or a file that no node knows yet' }
const yes: Flag = { help: 'Do not ask first when replicas would stop' }

export const modelsCommand: Command = {
  name: 'models',
  summary: 'See, add, fetch, load and unload models, and delete their files',
  about: 'A model is a name, the engine that runs it, where its files come from, and options.',
  options: clientOptions,
  examples: ['flotilla models', 'flotilla models load qwen --wait', 'flotilla models unload qwen#1 --node gpu-1'],
  subcommands: [
    {
      name: 'list',
      summary: 'All models, and what is on the way',
      about:
        'READY is how many of its replicas are, MEMORY what one of them takes: VRAM where it runs on a GPU, else RAM.\n' +
        'Below a model stands what is on the way and what has failed.',
      examples: ['flotilla models'],
    },
    {
      name: 'show',
      summary: 'One model and its replicas',
      arguments: [model],
      examples: ['flotilla models show qwen'],
    },
    {
      name: 'add',
      summary: 'Add a model',
      about:
        'A source is file:/path on the nodes themselves, https://…, hf:org/repo/file, hf:org/repo, ollama:name, or frontend:path below ' +
        'the models folder of the frontend; #sha256=… after it says what the file must be.\n' +
        'GGUF files run on the engine llama unless --engine says otherwise, with a context of at most 8192 tokens unless --context\n' +
        'does. The output says what was chosen. To change an existing model, use flotilla models set.',
      arguments: [{ name: 'name' }],
      flags: {
        engine: { value: 'engine', help: 'What runs it; flotilla engines lists what there is' },
        source: { value: 'source', help: 'Where its files come from; some engines need none' },
        context: { value: 'tokens', help: 'The longest request with its answer, in tokens' },
        parallel: { value: 'n', help: 'How many requests one replica works on at a time' },
        option: { value: 'key=value', many: true, help: 'An option of the model, such as flash_attn=on' },
        memory: {
          value: 'size',
          help: 'What a replica needs: 12GiB of VRAM, or vram=12GiB,ram=2GiB; else it is found out',
        },
        'anti-affinity': { value: 'name', help: 'Never on one node with other models of this name' },
        replicas: { value: 'n', help: 'Keep at least so many replicas running; 0 keeps none' },
        replace: { help: 'Replace a model of this name whole' },
        later,
      },
      examples: [
        'flotilla models add qwen --replicas 1 \\\n' +
          '    --source hf:Qwen/Qwen2.5-0.5B-Instruct-GGUF/qwen2.5-0.5b-instruct-q8_0.gguf',
        'flotilla models add demo --engine sim --context 8192 --replicas 2',
      ],
    },
    {
      name: 'set',
      summary: 'Change what is named of a model',
      about:
        'What is not named stays as it is. With another engine, source or option its replicas are replaced one by one; another\n' +
        'need of memory restarts nothing.',
      arguments: [model],
      flags: {
        engine: { value: 'engine', help: 'What runs it; flotilla engines lists what there is' },
        source: { value: 'source', help: 'Where its files come from', clear: 'none' },
        context: { value: 'tokens', help: 'The longest request with its answer, in tokens', clear: 'none' },
        parallel: { value: 'n', help: 'How many requests one replica works on at a time', clear: 'none' },
        option: { value: 'key=value', many: true, help: 'An option of the model', clear: 'key-' },
        memory: { value: 'size', help: 'What a replica needs: 12GiB of VRAM, or vram=12GiB,ram=2GiB', clear: 'none' },
        'anti-affinity': { value: 'name', help: 'Never on one node with other models of this name', clear: 'none' },
        later,
      },
      examples: [
        'flotilla models set qwen --context 16384 --option gpu_layers=20',
        'flotilla models set qwen --memory none --option gpu_layers-',
      ],
    },
    {
      name: 'inspect',
      summary: 'What the file of a model says, and what memory it takes',
      about:
        'Takes a path on this machine, https://… or hf:org/repo/file, and needs no cluster: only the beginning of the file is read.\n' +
        'Repositories that need a token are read with FLOTILLA_HF_TOKEN.',
      arguments: [{ name: 'file' }],
      examples: [
        'flotilla models inspect ~/models/qwen.gguf',
        'flotilla models inspect --json \\\n    hf:Qwen/Qwen2.5-0.5B-Instruct-GGUF/qwen2.5-0.5b-instruct-q8_0.gguf',
      ],
    },
    {
      name: 'pull',
      summary: "Fetch a model's files to nodes ahead of requests",
      about:
        'Shows how far it is; Ctrl-C stops watching, not the transfer. What was interrupted goes on where it was. Without --node and\n' +
        '--all it is for clusters of one node.',
      arguments: [model],
      flags: { node: nodeFlag, all: allFlag },
      examples: ['flotilla models pull qwen', 'flotilla models pull qwen --node gpu-1 --node gpu-2'],
    },
    {
      name: 'load',
      summary: 'Load a model now, as its first request would',
      about: 'flotilla why shows where it is placed, or why it cannot be.',
      arguments: [model],
      flags: { wait: { help: 'Show how far it is until it is ready; Ctrl-C stops waiting, not the load' } },
      examples: ['flotilla models load qwen --wait'],
    },
    {
      name: 'unload',
      summary: 'Stop replicas: all of a model, or one',
      about:
        'Running requests may finish first. Without --node on all nodes. A model that a rule asks for is started again, others\n' +
        'when they are asked.',
      arguments: [{ name: 'model[#n]' }],
      flags: { node: nodeFlag, all: allFlag, force: { help: 'Do not let running requests finish' } },
      examples: ['flotilla models unload qwen#1 --node gpu-1', 'flotilla models unload qwen --force'],
    },
    {
      name: 'delete',
      summary: "Delete a model's files from nodes",
      about: 'Its replicas there are stopped first. The model stays; what needs it fetches the files again.',
      arguments: [model],
      oneOf: ['node', 'all'],
      flags: { node: nodeFlag, all: allFlag, yes },
      examples: ['flotilla models delete qwen --node gpu-1', 'flotilla models delete qwen --all --yes'],
    },
    {
      name: 'remove',
      summary: 'Remove a model; its replicas stop',
      about:
        'Its files stay on the nodes: flotilla models delete deletes those. The rule that models add --replicas made goes with it;\n' +
        'one that was written by itself stays.',
      arguments: [model],
      flags: { yes },
      examples: ['flotilla models remove qwen'],
    },
  ],
}
