import { CircleAlert, TriangleAlert } from 'lucide-react'
import { useState, type ReactNode } from 'react'
import { Link } from 'wouter'
import type { Problem } from '../../../../src/api/admin/cluster-schemas.ts'
import { linkTo } from '../../links.ts'
import { useProblems } from '../../live/use-live.ts'
import { Button } from '../../parts/button.tsx'
import { Panel } from '../../parts/page.tsx'
import style from './attention.module.css'
import { Remedy } from './remedy.tsx'

const FIRST_SHOWN = 3

/** What is wrong, the worst first, each with what can be done about it. Nothing when all is well. */
export function Attention(): ReactNode {
  const problems = useProblems()
  const [showsAll, setShowsAll] = useState(false)
  if (problems.length === 0) return null
  const shown = showsAll ? problems : problems.slice(0, FIRST_SHOWN)
  const more = problems.length - shown.length
  return (
    <Panel title={`Needs attention (${problems.length})`} flush>
      <ul aria-label="Needs attention" className={style['list']}>
        {shown.map((problem) => (
          <Item
            key={`${problem.kind} ${problem.node_id} ${problem.key} ${problem.model_name} ${problem.text}`}
            problem={problem}
          />
        ))}
      </ul>
      {(more > 0 || showsAll) && problems.length > FIRST_SHOWN && (
        <div className={style['more']}>
          <Button small tone="quiet" onClick={() => setShowsAll(!showsAll)}>
            {showsAll ? 'Show fewer' : `Show ${more} more`}
          </Button>
        </div>
      )}
    </Panel>
  )
}

function Item({ problem }: { problem: Problem }): ReactNode {
  const isError = problem.severity === 'error'
  const Icon = isError ? CircleAlert : TriangleAlert
  return (
    <li className={style['item']}>
      <Icon
        size={18}
        className={isError ? style['error'] : style['warning']}
        aria-label={isError ? 'Error' : 'Warning'}
      />
      <div className={style['text']}>
        <p>
          <Subject problem={problem} /> {problem.text}
        </p>
        {problem.advice !== null && <p className={style['advice']}>What would help: {problem.advice}</p>}
      </div>
      <div className={style['remedy']}>
        <Remedy problem={problem} />
      </div>
    </li>
  )
}

/** What it is about, as a link. */
function Subject({
  problem: { node_id: nodeId, node_name: nodeName, model_name: modelName },
}: {
  problem: Problem
}): ReactNode {
  return (
    <strong>
      {modelName !== null && <Link href={linkTo.whyModel(modelName)}>{modelName}</Link>}
      {modelName !== null && nodeName !== null && ' on '}
      {nodeName !== null && (nodeId === null ? nodeName : <Link href={linkTo.node(nodeId)}>{nodeName}</Link>)}
    </strong>
  )
}
