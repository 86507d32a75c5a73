import { engineLimits, userAndGroup } from './engine-limit-types.ts'
import type { Option } from './option.ts'
import { address, boolean, budget, hostsAndRanges, integer, labels, oneOf, size, text, url } from './option-types.ts'

/** What one machine brings to a cluster: its replicas, engines and files of models. */
export const machineOptions = {
  max_replicas_per_model: {
    type: integer(1, 1000),
    value: 'n',
    help: 'Slots: how many replicas of one model this machine may run',
    default: () => '1',
    defaultIn: { up: '2' },
    alias: 'LOCALAI_MAX_REPLICAS_PER_MODEL',
  },
  first_model: {
    type: oneOf(['skipper', 'sim', 'none']),
    value: 'skipper|sim|none',
    help: 'The first model of an empty cluster: a very small language model that knows Flotilla, a simulated one, or none',
    default: () => 'skipper',
  },
  node_type: {
    type: oneOf(['backend', 'agent']),
    value: 'type',
    help: 'backend runs replicas; agent joins without running any',
    default: () => 'backend',
  },
  node_labels: {
    type: labels,
    value: 'k=v,k=v',
    help: 'Labels of this machine, for rules to select',
    default: () => '',
    alias: 'LOCALAI_NODE_LABELS',
  },
  vram_budget: {
    type: budget,
    value: 'size',
    help: 'VRAM that replicas may use here: 80%, 12GB, 12GiB or bytes; without it all',
    default: () => undefined,
    alias: 'LOCALAI_VRAM_BUDGET',
  },
  health_listen: {
    type: address,
    value: 'host:port',
    help: 'Further listener for /healthz and /readyz of the worker, without a key; its data port answers them to this machine only',
    default: () => undefined,
  },
  restart_engines: {
    type: boolean,
    value: 'true|false',
    help: 'Stop the engines that a dead worker left running, instead of adopting them',
    default: () => 'false',
    switch: true,
  },
  keep_engines: {
    type: boolean,
    value: 'true|false',
    help: 'When the worker is stopped, leave its engines running; the next one must adopt them within a minute. For updates',
    default: () => 'false',
    switch: true,
  },
  rotate_node_key: {
    type: boolean,
    value: 'true|false',
    help: 'Make a new key for this node, and a new certificate for its data port; it stays the same node. If it was stopped with keep_engines, its engines keep running',
    default: () => 'false',
    switch: true,
  },
  drain_s: {
    type: integer(0, 86_400),
    value: 's',
    help: 'How long running requests may take to finish when their replica or process is stopped',
    default: () => '120',
  },
  engine_user: {
    type: userAndGroup,
    value: 'user[:group]',
    help: 'Run engines as this user and with its groups, so that they can read their model and little else; needs root and Linux',
    default: () => undefined,
  },
  engine_limits: {
    type: engineLimits,
    value: 'name=n,…',
    help: 'Limits of each engine: memory=32GiB (what it writes to), files=4096, processes=512 (of its user), nice=5',
    default: () => '',
  },
  engine_profiles: {
    type: text,
    value: 'folder',
    help: 'Folder with engine profiles of your own, as YAML; by default engine-profiles in the data folder',
    default: () => undefined,
  },
  models_dir: {
    type: text,
    value: 'folder',
    help: 'Serve a folder of GGUF files: each is a model named after its file and comes and goes with it. frontend: sources are there, too',
    default: () => undefined,
  },
  models_quota: {
    type: size,
    value: 'size',
    help: 'Disk that fetched model files may use here: above it the least recently used are deleted; without it all of it',
    default: () => undefined,
  },
  download_limit: {
    type: size,
    value: 'size',
    help: 'Bytes to fetch per second at most, for all transfers together; without it no limit',
    default: () => undefined,
  },
  shared_models: {
    type: text,
    value: 'folder',
    help: 'Folder that already holds all model files, such as a network drive; the worker then fetches none',
    default: () => undefined,
  },
  allow_sources: {
    type: hostsAndRanges,
    value: 'host|range,…',
    help: 'Hosts and ranges of private networks that model files and engines may be fetched from, such as nas.lan,192.168.0.0/16; any for all. The internet, the frontends and hf_endpoint need none',
    default: () => '',
  },
  hf_endpoint: {
    type: url('http', 'https'),
    value: 'url',
    help: 'Where hf: sources are fetched from: Hugging Face, or a mirror of it',
    default: () => 'https://huggingface.co',
  },
  hf_token: {
    type: text,
    value: 'token',
    help: 'Token for hf: sources that need one; prefer FLOTILLA_HF_TOKEN',
    default: () => undefined,
    secret: true,
  },
} as const satisfies Record<string, Option<unknown>>
