import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { bytesText } from '../../format/bytes.ts'
import { countText } from '../../format/figures.ts'
import { linkTo } from '../../links.ts'
import { useNodes } from '../../live/use-live.ts'
import { namesText } from '../../plan/plan-lines.ts'
import { PlanPreview } from '../../plan/plan-preview.tsx'
import { usePlan, useSettled } from '../../plan/use-plan.ts'
import { matchingNodes, type Matching } from './matching-nodes.ts'
import { bodyOf, type RuleDraft, type RuleMistake } from './rule-draft.ts'
import style from './rule-form.module.css'
import { selectorOf } from './selector-pairs.ts'

const MOST_NAMES = 5
const SETTLED_MS = 300

interface RulePreviewProps {
  draft: RuleDraft
  mistake: RuleMistake | undefined
  isModelKnown: boolean
}

/** What the rule would mean for the cluster as it is now, before anything is saved. */
export function RulePreview({ draft, mistake, isModelKnown }: RulePreviewProps): ReactNode {
  const nodes = useNodes()
  const pairs = useSettled(draft.pairs, SETTLED_MS)
  const matching = matchingNodes(nodes, selectorOf(pairs))
  const name = draft.modelName.trim()
  return (
    <section className={style['preview']} aria-label="What it would do" aria-live="polite">
      <h3>What it would do</h3>
      <div className={style['part']}>
        <MatchingNodes matching={matching} all={nodes.length} />
      </div>
      <div className={style['part']}>
        {mistake ? (
          <p className={style['muted']}>{mistake.text}</p>
        ) : isModelKnown ? (
          <Following draft={draft} />
        ) : (
          <p>There is no model “{name}” yet: the rule waits for it.</p>
        )}
      </div>
    </section>
  )
}

function MatchingNodes({ matching, all }: { matching: Matching; all: number }): ReactNode {
  const { nodes, troubled, slots, freeVram, totalVram, freeRam } = matching
  if (nodes.length === 0)
    return <p className={style['warn']}>No node matches: the rule would wait for one that does.</p>
  const more = nodes.length - MOST_NAMES
  const free = totalVram > 0 ? `${bytesText(freeVram)} of ${bytesText(totalVram)} VRAM` : `${bytesText(freeRam)} RAM`
  return (
    <>
      <p className={style['names']}>
        <b>
          {nodes.length} of {countText(all, 'node')} {nodes.length === 1 ? 'matches' : 'match'}:
        </b>
        {nodes.slice(0, MOST_NAMES).map((node) => (
          <Link key={node.id} href={linkTo.node(node.id)}>
            {node.name}
          </Link>
        ))}
        {more > 0 && <span>and {more} more</span>}
      </p>
      {nodes.length > troubled.length && (
        <p>
          {countText(slots, 'slot')} for this model, {free} free.
        </p>
      )}
      {troubled.length > 0 && (
        <p className={style['warn']}>{namesText(troubled.map(({ node, why }) => `${node.name} ${why}`))}.</p>
      )}
    </>
  )
}

function Following({ draft }: { draft: RuleDraft }): ReactNode {
  const plan = usePlan({ rules: [bodyOf(draft)] })
  return <PlanPreview plan={plan} modelName={draft.modelName.trim()} quiet="No replica is started or stopped." />
}
