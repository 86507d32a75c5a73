import type { ReactNode } from 'react'
import { Link } from 'wouter'
import type { RuleView } from '../../../../src/api/admin/rule-schemas.ts'
import { countText } from '../../format/figures.ts'
import { linkTo } from '../../links.ts'
import { Ago } from '../../parts/ago.tsx'
import table from '../../parts/table.module.css'
import style from './rules-table.module.css'

/** Why a rule is not met: in a sentence, and what each node says. */
export function RuleReasons({ rule }: { rule: RuleView }): ReactNode {
  const { model_name: name, reason, last_decision: decision } = rule
  const refusals = decision?.refusals ?? []
  return (
    <div className={style['reasons']}>
      {reason !== null && <p>{reason}</p>}
      {decision && decision.reason !== reason && <p>{decision.reason}</p>}
      {refusals.length > 0 && (
        <ul className={style['nodes']} aria-label="What nodes say">
          {refusals.map((refusal) => (
            <li key={refusal.node_name}>
              <b>{refusal.node_name}</b> {refusal.text}
            </li>
          ))}
          {decision!.more > 0 && <li>and {countText(decision!.more, 'node')} more</li>}
        </ul>
      )}
      <p className={style['links']}>
        <Link href={linkTo.whyModel(name)}>Why, with all figures</Link>
        {decision && (
          <span className={table['sub']}>
            Last tried <Ago at={decision.at} />
          </span>
        )}
      </p>
    </div>
  )
}
