import { CircleAlert, TriangleAlert } from 'lucide-react'
import type { ReactNode } from 'react'
import type { RuleView } from '../../../../src/api/admin/rule-schemas.ts'
import { clockText } from '../../format/time.ts'
import { useNow } from '../../live/use-now.ts'
import { Hint } from '../../parts/hint.tsx'
import { Pill } from '../../parts/pill.tsx'

/** Whether a rule is met, and until when it is not tried again. */
export function RuleStatus({ rule }: { rule: RuleView }): ReactNode {
  const { state, unsatisfiable_until: until } = rule
  if (until !== null && state !== 'met') return <Unsatisfiable rule={rule} until={until} />
  if (state === 'met') return <Pill tone="ok">OK</Pill>
  if (state === 'starting') return <Pill tone="busy">Starting</Pill>
  return <NotMet />
}

function Unsatisfiable({ rule, until }: { rule: RuleView; until: number }): ReactNode {
  const nowMs = useNow()
  if (until <= nowMs) return rule.state === 'starting' ? <Pill tone="busy">Starting</Pill> : <NotMet />
  const times = rule.unsatisfiable_ticks
  return (
    <Hint
      text={`It could not be met ${times === 1 ? 'once' : `${times} times in a row`}. It is met as soon as a change makes room; failing that, it is told anew after ${clockText(until)}.`}
    >
      <Pill tone="warn" icon={TriangleAlert} tabIndex={0}>
        Unsatisfiable until {clockText(until)}
      </Pill>
    </Hint>
  )
}

function NotMet(): ReactNode {
  return (
    <Pill tone="warn" icon={CircleAlert}>
      Not met
    </Pill>
  )
}
