import type { LeftModel, WhatIfInput } from '../api/admin/plan-schemas.ts'
import { AppError } from '../platform/errors.ts'
import type { Client } from './client.ts'
import { plain } from './terminal/text-width.ts'

export interface Foreseen {
  left: readonly LeftModel[]
  /** The consequences, in sentences. */
  text: string
}

/** Which models a change would leave without a replica. A frontend of the release before cannot say; then none. */
export async function foreseen({ api }: Client, idea: Partial<WhatIfInput>): Promise<Foreseen> {
  try {
    const plan = await api.call('whatIf', {}, { node_lost: [], drain: [], add_nodes: [], rules: [], ...idea })
    return { left: plan.left_without ?? [], text: (plan.warnings ?? []).map(plain).join(' ') }
  } catch (error) {
    if (error instanceof AppError && ['bad_request', 'not_found'].includes(error.code)) return { left: [], text: '' }
    throw error
  }
}
