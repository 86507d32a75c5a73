import type { OptionName } from './config/options.ts'
import { clientOptions as client, type Command, type Flag } from './command.ts'
import { benchCommand } from './bench/command.ts'
import { completionCommand } from './completion/command.ts'
import { dashboardCommand } from './dashboard/command.ts'
import { dbCommand } from './db/command.ts'
import { doctorCommand } from './doctor/command.ts'
import { enginesCommand } from './engines/command.ts'
import { importCommand } from './import/command.ts'
import { keysCommand } from './keys/command.ts'
import { natsCommand } from './nats/command.ts'
import { logsCommand } from './logs/command.ts'
import { modelsCommand } from './models/command.ts'
import { applyCommand, exportCommand, planCommand, whatIfCommand } from './plan/command.ts'
import { rulesCommand } from './rules/command.ts'
import { runCommand } from './run/command.ts'
import { statusCommand } from './status/command.ts'
import { topCommand } from './top/command.ts'
import { whyCommand } from './why/command.ts'

const listener: readonly OptionName[] = ['tls', 'tls_cert', 'tls_key']
const frontendTrust: readonly OptionName[] = ['ca', 'fingerprint']
const nats: readonly OptionName[] = ['nats_account_seed_file', 'insecure', 'nats_ca', 'nats_cert', 'nats_key']
const storage: readonly OptionName[] = ['database_url', 'nats_url', ...nats]
const trust: readonly OptionName[] = ['auto_approve', 'heartbeat_ms', 'offline_after_ms']
const machine: readonly OptionName[] = [
  'node_labels',
  'max_replicas_per_model',
  'vram_budget',
  'engine_ports',
  'engine_profiles',
  'engine_user',
  'engine_limits',
  'restart_engines',
  'keep_engines',
  'rotate_node_key',
  'drain_s',
]
const files: readonly OptionName[] = [
  'models_quota',
  'download_limit',
  'shared_models',
  'allow_sources',
  'hf_endpoint',
  'hf_token',
]
const admission: readonly OptionName[] = [
  'local_inference',
  'max_body',
  'body_memory',
  'max_connections',
  'max_running',
  'max_running_per_model',
  'max_waiting_per_model',
  'max_wait_s',
  'model_load_wait',
  'answer_wait',
]
const declared: readonly OptionName[] = ['model_scheduling', 'model_scheduling_config']
const running: readonly OptionName[] = ['otlp_endpoint', 'trace_ratio', 'ready_file', 'log_level', 'log_format']

const node = { name: 'node' } as const
const reset: Flag = { help: 'Remove the value set here, so that the value from the worker applies again' }

export const commands: readonly Command[] = [
  {
    name: 'up',
    summary: 'Run everything on this machine: control, gateway and a worker',
    about:
      'Starts a whole cluster of one machine: the OpenAI-compatible endpoint, the control plane and a worker\n' +
      'that runs the engines. Needs nothing else installed. More machines may join. Ctrl-C stops all of it.',
    options: [
      'listen',
      ...listener,
      'data',
      'new_cluster',
      'first_model',
      'node_name',
      ...machine,
      ...files,
      'worker_listen',
      'advertise',
      'data_tls',
      'health_listen',
      'bus_listen',
      'bus_tls',
      'placement',
      ...declared,
      'models_dir',
      'expose_node_header',
      ...admission,
      ...storage,
      ...trust,
      ...running,
    ],
    examples: [
      'flotilla up',
      'flotilla up --models-dir ~/models',
      'flotilla up --listen 0.0.0.0:8080 --max-replicas-per-model 2',
    ],
  },
  {
    name: 'frontend',
    summary: 'Run control and gateway, for workers on other machines to join',
    about:
      'Starts the OpenAI-compatible endpoint and the control plane, without a worker. Several frontends may share one\n' +
      'PostgreSQL and one NATS. "flotilla token" shows how a machine joins.',
    options: [
      'listen',
      ...listener,
      'data',
      'new_cluster',
      'bus_listen',
      'bus_tls',
      'placement',
      ...declared,
      'models_dir',
      'allow_sources',
      'hf_endpoint',
      'hf_token',
      'expose_node_header',
      ...admission,
      ...storage,
      ...trust,
      'drain_s',
      ...running,
    ],
    examples: ['flotilla frontend --listen 0.0.0.0:8080', 'flotilla frontend --listen 0.0.0.0:8080 --auto-approve'],
  },
  {
    name: 'gateway',
    summary: 'Run one more gateway: inference only, with no database',
    about:
      'Serves the OpenAI-compatible endpoint of a cluster, without a control plane. It asks a frontend for its place on\n' +
      'the bus, with the admin key (FLOTILLA_KEY); with --nats-url it needs no frontend at all. While frontends, bus and\n' +
      'database are away it keeps serving, even after a restart, from its saved routing table.',
    options: [
      'listen',
      ...listener,
      'data',
      'new_cluster',
      'url',
      'join',
      'key',
      ...frontendTrust,
      'nats_url',
      ...nats,
      'processes',
      'expose_node_header',
      ...admission,
      'drain_s',
      ...running,
    ],
    examples: [
      'flotilla gateway --url http://frontend:8080 --listen 0.0.0.0:8081 \\\n    --data ~/gateway',
      'flotilla gateway --join http://first:8080,http://second:8080 --data ~/gateway',
      'flotilla gateway --nats-url nats://bus:4222 --processes 4',
    ],
  },
  {
    name: 'worker',
    summary: 'Join this machine to a cluster and run replicas on it',
    about:
      'Joins the cluster of a frontend and runs the replicas it is given. The machine is known by a key that is made on\n' +
      'first use, so it stays the same node when its address changes. A new node waits until an admin approves it.',
    options: [
      'join',
      ...frontendTrust,
      'token_file',
      'token',
      'data',
      'new_cluster',
      'node_name',
      'node_type',
      ...machine,
      ...files,
      'worker_listen',
      'advertise',
      'data_tls',
      'health_listen',
      ...running,
    ],
    examples: [
      'flotilla worker --join http://frontend:8080 --token-file join.token',
      'flotilla worker --join http://frontend:8080 --token-file join.token \\\n    --node-labels tier=fast,zone=a --vram-budget 80%',
    ],
  },
  statusCommand,
  topCommand,
  doctorCommand,
  dashboardCommand,
  {
    name: 'nodes',
    summary: 'See and change the machines of a cluster',
    about: 'A node is named by its name, its id, or the first four or more characters of its id.',
    options: client,
    examples: ['flotilla nodes', 'flotilla nodes drain gpu-1 --wait', 'flotilla nodes label gpu-1 tier=fast zone-'],
    subcommands: [
      {
        name: 'list',
        summary: 'All nodes',
        about:
          'FREE VRAM and FREE RAM are what is free of how much there is, in GiB. LABELS leaves out automatic ones.',
        examples: ['flotilla nodes', 'flotilla nodes list --json'],
      },
      {
        name: 'show',
        summary: 'Everything about one node',
        arguments: [node],
        examples: ['flotilla nodes show gpu-1'],
      },
      {
        name: 'approve',
        summary: 'Approve waiting nodes',
        arguments: [{ ...node, many: true }],
        examples: ['flotilla nodes approve gpu-1 gpu-2'],
      },
      {
        name: 'drain',
        summary: 'No new requests or replicas; running requests finish',
        about: 'Asks first if models lose their last replica, and names them.',
        arguments: [node],
        flags: {
          wait: { help: 'Show what still runs until nothing does; Ctrl-C stops waiting, not the drain' },
          yes: { help: 'Do not ask first, even if models lose their last replica' },
        },
        examples: ['flotilla nodes drain gpu-1 --wait', 'flotilla nodes drain gpu-1 --yes'],
      },
      { name: 'resume', summary: 'Undo a drain', arguments: [node], examples: ['flotilla nodes resume gpu-1'] },
      {
        name: 'accept-loss',
        summary: 'Stop waiting for nodes that went silent together',
        about:
          'When more than half of the nodes fall silent within a minute, their replicas are not replaced: a network\n' +
          'failure is far more likely than the loss of so many machines. If they are really lost, use this.',
        flags: { yes: { help: 'Do not ask first' } },
        examples: ['flotilla nodes accept-loss'],
      },
      {
        name: 'remove',
        summary: 'Remove a node for good; its worker ends',
        about:
          'Stops the replicas of the node, tells its worker to end and forgets all about it, approval and labels\n' +
          'included. To stop using a node for a while, drain it instead.',
        arguments: [node],
        flags: { yes: { help: 'Do not ask first' } },
        examples: ['flotilla nodes remove gpu-1', 'flotilla nodes remove gpu-1 --yes'],
      },
      {
        name: 'label',
        summary: 'See, set (key=value) and remove (key-) labels',
        about: 'Labels set here win over those of the worker and stay when it registers again.',
        arguments: [node, { name: 'label', optional: true, many: true, clear: 'key-' }],
        examples: ['flotilla nodes label gpu-1', 'flotilla nodes label gpu-1 tier=fast "rack=B 12" zone-'],
      },
      {
        name: 'slots',
        summary: 'How many replicas of one model it may run',
        about: 'Lowering the slots stops no replica; the output says how many are above the limit.',
        arguments: [node, { name: 'n', optional: true, clear: 'none' }],
        flags: { reset },
        examples: ['flotilla nodes slots gpu-1 2', 'flotilla nodes slots gpu-1 --reset'],
      },
      {
        name: 'budget',
        summary: 'How much VRAM replicas may use on it',
        about: 'A share such as 80%, a size such as 12GB or 12GiB, or a number of bytes.',
        arguments: [node, { name: 'size', optional: true, clear: 'none' }],
        flags: { reset },
        examples: ['flotilla nodes budget gpu-1 80%', 'flotilla nodes budget gpu-1 --reset'],
      },
    ],
  },
  modelsCommand,
  runCommand,
  benchCommand,
  rulesCommand,
  planCommand,
  applyCommand,
  exportCommand,
  whatIfCommand,
  importCommand,
  enginesCommand,
  logsCommand,
  whyCommand,
  {
    name: 'token',
    summary: 'Let machines join: see, make and revoke join tokens',
    about: 'Without a subcommand it shows the tokens and the command that joins a machine.',
    options: client,
    examples: ['flotilla token', 'flotilla token create --name rack-7 --expires 1h --uses 8 > join.token'],
    subcommands: [
      { name: 'list', summary: 'All tokens, and how to join', examples: ['flotilla token'] },
      {
        name: 'create',
        summary: 'Make a token; it is shown once',
        about: 'Prints the token alone, so that it can go into a file or a pipe.',
        flags: {
          name: { value: 'name', help: 'What it is for' },
          expires: { value: 'time', help: 'How long it is valid: 30m, 1h, 7d; without it for ever' },
          uses: { value: 'n', help: 'How many nodes may join with it; without it any number' },
        },
        examples: ['flotilla token create --name rack-7 --expires 1h --uses 8 > join.token'],
      },
      {
        name: 'rotate',
        summary: 'Replace the default token; the old one ends',
        about: 'Prints the new token alone. Nodes that have joined stay.',
        examples: ['flotilla token rotate'],
      },
      {
        name: 'revoke',
        summary: 'End a token; nodes that joined with it stay',
        arguments: [{ name: 'token' }],
        about: 'A token is named by its id, the first four or more characters of it, or its name.',
        examples: ['flotilla token revoke rack-7'],
      },
      {
        name: 'show',
        summary: "Print the default token of this machine's frontend",
        about: 'Prints the contents of join.token in the data folder: any machine that has it can ask to join.',
        examples: ['flotilla token show | ssh gpu-2 "cat > join.token"'],
      },
    ],
  },
  keysCommand,
  natsCommand,
  dbCommand,
  completionCommand,
]
