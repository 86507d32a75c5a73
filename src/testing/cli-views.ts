import type { BackendView, ModelView } from '../api/admin/schemas.ts'

/** Things as the admin API shows them, with defaults. */

export function aModelView(fields: Partial<ModelView> = {}): ModelView {
  const nowMs = Date.now()
  return {
    name: 'qwen',
    engine: 'llama-server',
    source: null,
    options: {},
    revision: 'r1',
    created_at: nowMs - 3 * 86_400_000 - 60_000,
    updated_at: nowMs - 2 * 3_600_000 - 60_000,
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
    operation: null,
    ...fields,
  }
}
