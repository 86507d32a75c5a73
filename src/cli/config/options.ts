import { hostname } from 'node:os'
import { join } from 'node:path'
import type { z } from 'zod'
import { logLevels } from '../../platform/run/log.ts'
import { machineOptions } from './machine-options.ts'
import type { Env, Option } from './option.ts'
import {
  address,
  boolean,
  integer,
  located,
  oneOf,
  portRange,
  ruleList,
  seconds,
  size,
  text,
  url,
  urls,
} from './option-types.ts'
import { tlsOptions } from './tls-options.ts'
import { tracingOptions } from './tracing-options.ts'

/**
 * Every option there is, declared once. The name gives the rest: `bus_listen` is `--bus-listen` on the command line,
 * `FLOTILLA_BUS_LISTEN` in the environment and `bus_listen` in flotilla.yaml.
 */
export const options = {
  data: {
    type: text,
    value: 'folder',
    help: 'Where keys, database and logs are kept; one instance per folder',
    default: (env) => join(xdg(env, 'XDG_DATA_HOME', '.local/share'), 'flotilla'),
  },
  new_cluster: {
    type: boolean,
    value: 'true|false',
    help: 'For one start: move this data folder to the cluster that its database or frontend belongs to now, and forget the one before',
    default: () => 'false',
    switch: true,
  },
  listen: {
    type: address,
    value: 'host:port',
    help: 'Listener for the API, the dashboard and inference',
    default: () => '127.0.0.1:8080',
  },
  ...tlsOptions,
  local_inference: {
    type: oneOf(['on', 'off']),
    value: 'on|off',
    help: 'Whether programs on this machine need no key for inference and /metrics. Without it: on, and off with TLS or where --listen is open to other machines. Off behind a reverse proxy on this machine',
    default: () => undefined,
  },
  max_body: {
    type: size,
    value: 'size',
    help: 'The longest accepted request, images and audio included',
    default: () => '64MiB',
  },
  body_memory: {
    type: size,
    value: 'size',
    help: 'Memory that the bodies of requests take together in one process, half of it for one client; more get a 503 with Retry-After. Without it a quarter of the memory, at most 256MiB',
    default: () => undefined,
  },
  max_connections: {
    type: integer(1, 1_000_000),
    value: 'n',
    help: 'Open connections; further ones get a 503 with Retry-After',
    default: () => '10000',
  },
  max_running: {
    type: integer(1, 1_000_000),
    value: 'n',
    help: 'Requests that one gateway runs at once, for all models',
    default: () => '10000',
  },
  max_running_per_model: {
    type: integer(1, 1_000_000),
    value: 'n',
    help: 'Requests to one model that one gateway runs at once; others wait. Without it there is no limit',
    default: () => undefined,
  },
  max_waiting_per_model: {
    type: integer(0, 1_000_000),
    value: 'n',
    help: 'How many requests may wait for one model; further ones are refused',
    default: () => '1000',
  },
  max_wait_s: {
    type: integer(0, 86_400),
    value: 's',
    help: 'How long a request waits for its turn at a model',
    default: () => '60',
  },
  model_load_wait: {
    type: seconds(86_400),
    value: 's',
    help: 'How long a request waits for its model to be loaded before it gets a 503 with Retry-After; 0: as long as it takes',
    default: () => '60',
    alias: 'LOCALAI_MODEL_LOAD_WAIT',
  },
  answer_wait: {
    type: seconds(86_400),
    value: 's',
    help: 'How long an engine may take to begin its answer, before the request goes to another replica or fails; 0: as long as it takes',
    default: () => '3600',
  },
  processes: {
    type: integer(1, 64),
    value: 'n',
    help: 'Processes that share the listener of a gateway, to use several cores',
    default: () => '1',
  },
  model_scheduling: {
    type: located(ruleList),
    value: 'json',
    help: 'Rules that every start applies, as a JSON list (in flotilla.yaml a list): [{"model_name": "qwen", "min_replicas": 1}]',
    default: () => undefined,
    alias: 'LOCALAI_MODEL_SCHEDULING',
    located: true,
  },
  model_scheduling_config: {
    type: located(text),
    value: 'path',
    help: 'YAML file with more such rules',
    default: () => undefined,
    alias: 'LOCALAI_MODEL_SCHEDULING_CONFIG',
    located: true,
  },
  placement: {
    type: oneOf(['spread', 'pack']),
    value: 'spread|pack',
    help: 'How replicas are placed: spread over the nodes, or packed tightly so that large gaps stay free',
    default: () => 'spread',
  },
  expose_node_header: {
    type: boolean,
    value: 'true|false',
    help: 'Add the node and replica to each answer: X-Flotilla-Node and X-Flotilla-Replica',
    default: () => 'false',
    switch: true,
    alias: 'LOCALAI_EXPOSE_NODE_HEADER',
  },
  bus_listen: {
    type: address,
    value: 'host:port',
    help: 'Listener of the embedded bus; by default the host of --listen and port 4222 or the next free one',
    default: () => undefined,
  },
  worker_listen: {
    type: address,
    value: 'host:port',
    help: "Listener of the worker's data port; port 0 takes any free one",
    default: () => '127.0.0.1:0',
    defaultIn: { worker: '0.0.0.0:9090' },
  },
  advertise: {
    type: address,
    value: 'host:port',
    help: 'Where gateways reach this worker, if not at the address it registers from',
    default: () => undefined,
  },
  engine_ports: {
    type: portRange,
    value: 'from-to',
    help: 'Ports for engines, on loopback only',
    default: () => '20000-29999',
  },
  database_url: {
    type: url('postgres', 'postgresql'),
    value: 'url',
    help: 'PostgreSQL to keep the state in; without it an embedded database in the data folder',
    default: () => undefined,
    secret: true,
  },
  nats_url: {
    type: url('nats', 'tls'),
    value: 'url',
    help: 'NATS server to use as the bus; without it an embedded one',
    default: () => undefined,
    secret: true,
    alias: 'LOCALAI_NATS_URL',
  },
  nats_account_seed_file: {
    type: text,
    value: 'path',
    help: 'File with the seed of the NATS account (or of a signing key, and the account below), so that every node gets a user of its own',
    default: () => undefined,
  },
  insecure: {
    type: boolean,
    value: 'true|false',
    help: 'Use a NATS server on another machine without accounts, where any node can impersonate another',
    default: () => 'false',
    switch: true,
  },
  join: {
    type: urls('http', 'https'),
    value: 'url,…',
    help: 'Frontends of the cluster to join; the first that answers is used',
    default: () => undefined,
    alias: 'LOCALAI_REGISTER_TO',
  },
  token: {
    type: text,
    value: 'token',
    help: 'Join token; others on this machine can see it here, so prefer --token-file or FLOTILLA_TOKEN',
    default: () => undefined,
    secret: true,
  },
  token_file: { type: text, value: 'path', help: 'File that holds the join token', default: () => undefined },
  node_name: {
    type: text,
    value: 'name',
    help: 'Name of this machine in the cluster',
    default: () => hostname(),
    alias: 'LOCALAI_NODE_NAME',
  },
  ...machineOptions,
  auto_approve: {
    type: boolean,
    value: 'true|false',
    help: 'Approve every node that joins with a valid token; for networks you trust',
    default: () => 'false',
    switch: true,
    alias: 'LOCALAI_AUTO_APPROVE_NODES',
  },
  heartbeat_ms: {
    type: integer(100, 600_000),
    value: 'ms',
    help: 'How often each node sends a heartbeat',
    default: () => '5000',
  },
  offline_after_ms: {
    type: integer(100, 86_400_000),
    value: 'ms',
    help: 'A node that sends no heartbeat for this long is offline',
    default: () => '60000',
  },
  url: {
    type: url('http', 'https'),
    value: 'url',
    help: 'Frontend of the cluster to talk to; without it commands find the one that runs on this machine',
    default: () => undefined,
  },
  key: {
    type: text,
    value: 'key',
    help: 'Admin key; prefer FLOTILLA_KEY. Without it commands take the one in the data folder',
    default: () => undefined,
    secret: true,
  },
  json: {
    type: boolean,
    value: 'true|false',
    help: "Print the API's JSON instead of text",
    default: () => 'false',
    switch: true,
  },
  ready_file: {
    type: text,
    value: 'path',
    help: 'File to write once serving: JSON with url, bus and pid (of a worker: node and pid; of a gateway: url and pid)',
    default: () => undefined,
  },
  ...tracingOptions,
  log_level: {
    type: oneOf(logLevels),
    value: 'level',
    help: `How much to log: ${logLevels.join(', ')}`,
    default: () => 'info',
  },
  log_format: {
    type: oneOf(['auto', 'pretty', 'json']),
    value: 'format',
    help: 'auto is pretty on a terminal and JSON elsewhere',
    default: () => 'auto',
  },
} as const satisfies Record<string, Option<unknown>>

export type { Env, Option }
export type Options = typeof options
export type OptionName = keyof Options

/** An option with a default always has a value. */
export type Config = {
  [N in OptionName]: Options[N] extends { type: z.ZodType<infer T>; default: (env: Env) => infer D }
    ? T | (undefined extends D ? (string extends D ? never : undefined) : never)
    : never
}

/** The default as a user would write it: that of the command, where it has its own. */
export function defaultOf(option: Option<unknown>, env: Env, command?: string): string | undefined {
  return (command === undefined ? undefined : option.defaultIn?.[command]) ?? option.default(env)
}

export function flagOf(name: string): string {
  return `--${name.replaceAll('_', '-')}`
}

export function variableOf(name: string): string {
  return `FLOTILLA_${name.toUpperCase()}`
}

/** The XDG base folder of a kind, as its specification says: an unset or relative value is ignored. */
export function xdg(env: Env, variable: string, fallback: string): string {
  const set = env[variable]
  return set?.startsWith('/') ? set : join(env['HOME'] ?? '/', fallback)
}
