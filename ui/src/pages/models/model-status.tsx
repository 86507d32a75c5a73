import type { ReactNode } from 'react'
import type { LiveModel } from '../../../../src/api/admin/live-schemas.ts'
import { Pill } from '../../parts/pill.tsx'
import { ModelState } from '../../parts/state-pills.tsx'

/** The state of a model; one that its rule wants and that is nowhere is not merely waiting to be asked for. */
export function ModelStatus({ model: { state, wanted } }: { model: LiveModel }): ReactNode {
  if (state === 'stopped' && (wanted ?? 0) > 0) return <Pill tone="warn">not placed</Pill>
  return <ModelState state={state} />
}
