import type { ModelExplanation, ModelSaved, ModelView } from '../../../src/api/admin/model-schemas.ts'
import type { RuleView } from '../../../src/api/admin/rule-schemas.ts'
import type { BackendView } from '../../../src/api/admin/schemas.ts'
import type { Loading, LoadStatus } from '../../../src/api/load-status.ts'

/** Things as the admin API shows them, with defaults. */

export function aModelView(fields: Partial<ModelView> = {}): ModelView {
  const nowMs = Date.now()
  return {
    name: 'qwen',
    engine: 'llama-server',
    source: null,
    options: {},
    memory: null,
    anti_affinity: null,
    origin: 'api',
    revision: 'r1',
    created_at: nowMs - 3 * 86_400_000 - 60_000,
    updated_at: nowMs - 2 * 3_600_000 - 60_000,
    state: 'stopped',
    ready_replicas: 0,
    replicas: 0,
    payload_bytes: null,
    header: null,
    last_loaded_at: null,
    last_load_ms: null,
    ...fields,
  }
}

/** The answer to saving a model; nothing ran of it. */
export function aSavedModel(fields: Partial<ModelSaved> = {}): ModelSaved {
  const effect = { is_changed: true, replaced: 0, text: 'Its first request loads it.' }
  return { ...aModelView(fields), effect, ...fields }
}

export function aLoadStatus(fields: Partial<LoadStatus> = {}): LoadStatus {
  return { state: 'ready', loading: null, reason: null, next_attempt_at: null, ...fields }
}

/** On its way, with not quite half of its files on the node. */
export function aLoading(fields: Partial<Loading> = {}): Loading {
  return {
    model: 'qwen',
    state: 'staging',
    node: 'gpu-1',
    progress: 43,
    bytes_sent: 1_932_735_283,
    total_bytes: 4_402_341_478,
    file_index: 1,
    total_files: 1,
    ...fields,
  }
}

/** A model that nobody asks for, in a cluster without nodes. */
export function anExplanation(fields: Partial<ModelExplanation> = {}): ModelExplanation {
  return {
    model_name: 'qwen',
    revision: 'r1',
    status: aLoadStatus({ state: 'stopped', reason: 'Nobody asks for it: its first request loads it.' }),
    wanted: null,
    wanted_since: null,
    memory: [],
    nodes: [],
    next: null,
    advice: [],
    last_decision: null,
    last_load: null,
    ...fields,
  }
}

export function anEngineView(fields: Partial<BackendView> = {}): BackendView {
  return {
    name: 'llama-server',
    source: 'built-in',
    state: 'available',
    reason: null,
    version: null,
    serves: ['/v1/chat/completions', '/v1/models'],
    memory: 'on_load',
    uses: { device: 'either' },
    operation: null,
    ...fields,
  }
}

/** One that is met. */
export function aRuleView(fields: Partial<RuleView> = {}): RuleView {
  return {
    model_name: 'qwen',
    node_selector: {},
    min_replicas: 0,
    max_replicas: 0,
    spread_all: false,
    scale_to_zero_after_s: null,
    route_policy: 'least_loaded',
    source: 'api',
    warning: null,
    state: 'met',
    reason: null,
    wanted: fields.min_replicas ?? 0,
    replicas: 0,
    ready: 0,
    unsatisfiable_until: null,
    unsatisfiable_ticks: 0,
    last_decision: null,
    updated_at: 1,
    ...fields,
  }
}
