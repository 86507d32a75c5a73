import { ArrowDownToLine, CircleX, Info, MoveRight, Play, Square, type LucideIcon } from 'lucide-react'
import type { ReactNode } from 'react'
import type { UseQueryResult } from '@tanstack/react-query'
import type { PlanView } from '../../../src/api/admin/plan-schemas.ts'
import type { ApiError } from '../api/call.ts'
import { Failure } from '../parts/notice.tsx'
import { Spinner } from '../parts/spinner.tsx'
import { planLines, type PlanLine } from './plan-lines.ts'
import style from './plan-preview.module.css'

const ICONS: Record<PlanLine['kind'], LucideIcon> = {
  start: Play,
  stop: Square,
  evict: MoveRight,
  move: ArrowDownToLine,
  impossible: CircleX,
  note: Info,
}

/** What saving would lead to. Screen readers are told as it changes; the parent is the live region. */
export function PlanPreview({
  plan,
  modelName,
  quiet,
}: {
  plan: UseQueryResult<PlanView, ApiError>
  modelName: string
  /** Said when nothing would start or stop. */
  quiet: string
}): ReactNode {
  // A refusal of what is typed now stands before the answer to what was typed before.
  if (plan.error) return <Failure error={plan.error} onRetry={() => void plan.refetch()} />
  if (!plan.data) {
    return (
      <p className={style['quiet']}>
        <Spinner /> Working out what would happen…
      </p>
    )
  }
  const lines = planLines(plan.data, modelName)
  return (
    <ul className={`${style['lines']} ${plan.isPlaceholderData ? style['old'] : ''}`}>
      {lines.every(({ kind }) => kind === 'note') && (
        <li className={style['line']}>
          <Info size={15} aria-hidden /> {quiet}
        </li>
      )}
      {lines.map((line) => (
        <Line key={`${line.kind} ${line.text}`} line={line} />
      ))}
    </ul>
  )
}

function Line({ line: { kind, text, nodes = [], advice } }: { line: PlanLine }): ReactNode {
  const Icon = ICONS[kind]
  return (
    <li className={`${style['line']} ${style[kind] ?? ''}`}>
      <Icon size={15} aria-hidden />
      <div>
        <p>{text}</p>
        {nodes.length > 0 && (
          <ul className={style['nodes']}>
            {nodes.map((node) => (
              <li key={node.name}>
                <b>{node.name}</b> {node.text}
              </li>
            ))}
          </ul>
        )}
        {advice !== undefined && <p className={style['advice']}>What would help: {advice}</p>}
      </div>
    </li>
  )
}
