import type { ReactNode } from 'react'
import { Hint } from '../../../parts/hint.tsx'
import { Pill } from '../../../parts/pill.tsx'

/** How many replicas of one model a node may run. Quiet while it is one, as it mostly is. */
export function SlotBadge({ slots }: { slots: number }): ReactNode {
  const text =
    slots === 1
      ? 'One slot: this node runs at most one replica of each model.'
      : `${slots} slots: this node runs up to ${slots} replicas of each model.`
  return (
    <Hint text={text}>
      <Pill tone={slots > 1 ? 'accent' : 'outline'}>{slots}× slots</Pill>
    </Hint>
  )
}
