import type { PlanChange, PlanImpossible, PlanStep, PlanView } from '../../../src/api/admin/plan-schemas.ts'

/** Plans as the admin API shows them, with defaults. */

export function aPlanView(fields: Partial<PlanView> = {}): PlanView {
  return {
    revision: 'rev1',
    changes: [],
    steps: [],
    moves: [],
    impossible: [],
    absent_nodes: [],
    frozen_nodes: [],
    is_complete: true,
    ...fields,
  }
}

export function aPlanChange(fields: Partial<PlanChange> = {}): PlanChange {
  return { noun: 'model', name: 'qwen', action: 'add', fields: [], revision: null, warning: null, ...fields }
}

export function aPlanStep(fields: Partial<PlanStep> = {}): PlanStep {
  return {
    kind: 'start',
    key: 'qwen#0',
    model_name: 'qwen',
    node_name: 'thor',
    devices: [],
    ram: 0,
    source: fields.kind === undefined || fields.kind === 'start' ? 'computed' : null,
    bytes_to_move: 0,
    why: null,
    for_model: null,
    ...fields,
  }
}

export function anImpossible(fields: Partial<PlanImpossible> = {}): PlanImpossible {
  return {
    model_name: 'big',
    missing: 1,
    is_new: true,
    is_busy: false,
    refusals: [],
    more_refusals: 0,
    advice: [],
    ...fields,
  }
}
