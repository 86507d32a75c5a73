import { aHeartbeat, aReport } from '../test/support/builders.ts'

/** Things as they are when nothing is wrong with them. */

const KEY = `U${'A'.repeat(55)}`

export const registration = {
  registration: {
    protocol: 3,
    name: 'box',
    node_type: 'backend',
    public_key: KEY,
    address: '10.0.0.5:9090',
    version: '0.1.0',
    boot_id: 'b',
    max_replicas_per_model: 1,
    vram_budget: '80%',
    labels: { tier: 'fast' },
    auto_labels: { 'gpu.vendor': 'nvidia' },
    signed_at: 1_000_000,
  },
  signature: 'AAAA',
}

export const aModelBody = {
  name: 'm',
  engine: 'llama',
  source: 'hf:org/repo/file.gguf',
  options: { context: 4096, flash: true, extra: '--x' },
  memory: { vram: '12GiB', ram: 0 },
  anti_affinity: 'big',
}

export const aRuleBody = {
  model_name: 'm',
  node_selector: { tier: ['a', 'b'], '!spot': '' },
  min_replicas: 1,
  max_replicas: 3,
}

export const aDocument = {
  models: [aModelBody],
  rules: [aRuleBody],
  nodes: [{ name: 'n', labels: { a: 'b' }, vram_budget: '80%', drain: false, max_replicas_per_model: 2 }],
}

export const adminSamples: readonly unknown[] = [
  registration,
  aModelBody,
  aRuleBody,
  aDocument,
  { key: 'fla_x' },
  { name: 'k', scopes: ['inference'], models: ['m'], expires_in_s: 3600 },
  { overlap_s: 60 },
  { protocol: 3, public_key: KEY },
  { value: '80%' },
  { a: 'b', c: null },
  { model_name: 'm', replica_index: 0, force: true },
  { engine: 'x', archive: { url: 'https://a/b', sha256: 'a'.repeat(64) }, command: ['a', 'b'] },
]

export const busSamples: readonly unknown[] = [
  aHeartbeat({ replicas: [aReport()] }),
  {
    id: 'r',
    generation: 1,
    model_name: 'm',
    replica_index: 0,
    engine: 'sim',
    source: null,
    options: { a: 1 },
    devices: [0],
  },
  { target: { what: 'key', key: 'm#0', not_after: 3 }, force: true, wait_ms: 5 },
  { command_id: 'c', engine: 'e', archive: { url: 'https://a/b', sha256: 'a'.repeat(64) } },
  { pull_id: 'p', model_name: 'm', source: 'hf:a/b', options: {} },
  { model_name: 'm', wanted_ms: 1000 },
  { ok: true, value: { known_from_seq: 1 } },
  { ok: false, error: { code: 'constructor', message: 'm' } },
]

/** The same document as people write it. */
export const yamlSamples: readonly string[] = [
  'models:\n  - name: m\n    engine: llama\n    source: hf:org/repo\n    options: {context: 4096}\n    memory: {vram: 12GiB}\nrules:\n  - model_name: m\n    min_replicas: 1\n    node_selector:\n      tier: [a, b]\nnodes:\n  - name: n\n    labels: {a: b}\n',
  'a: &x [1, 2]\nb: *x\nc: !!binary AAAA\nd: |\n  text\ne: >-\n  folded\n',
  '- model_name: m\n  min_replicas: 1\n- model_name: n\n  replicas: all\n',
]
export const yamlWords = [
  '- ',
  ': ',
  '&a ',
  '*a',
  '!!',
  '<<: ',
  '? ',
  '|\n',
  '>\n',
  '"',
  "'",
  '---\n',
  '...\n',
  '%YAML 1.2\n',
  '{',
  '[',
  '#',
  '\t',
]
