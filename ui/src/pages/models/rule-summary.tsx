import type { ReactNode } from 'react'
import { linkTo } from '../../links.ts'
import { useWorld } from '../../live/use-live.ts'
import { ButtonLink } from '../../parts/button.tsx'
import { Panel } from '../../parts/page.tsx'
import { Pill } from '../../parts/pill.tsx'
import { modeBadges, modeOf, ruleText } from '../rules/rule-mode.ts'
import { RuleStatus } from '../rules/rule-status.tsx'
import { SelectorChips } from '../rules/selector-chips.tsx'
import style from './model-page.module.css'

/** What the rule of a model asks for, and whether it is met. */
export function RuleSummary({ modelName }: { modelName: string }): ReactNode {
  const rule = useWorld(({ rules }) => rules.find(({ model_name: name }) => name === modelName))
  const link = (
    <ButtonLink to={linkTo.rule(modelName)} small>
      {rule ? 'Edit the rule' : 'Add a rule'}
    </ButtonLink>
  )
  if (!rule) {
    return (
      <Panel title="Rule" actions={link}>
        <p>None: it is loaded when somebody asks for it, and stays until its memory is needed.</p>
      </Panel>
    )
  }
  const badge = modeBadges[modeOf(rule)]
  return (
    <Panel title="Rule" actions={link}>
      <div className={style['rule']}>
        <p className={style['status']}>
          <Pill tone={badge.tone}>{badge.text}</Pill> <RuleStatus rule={rule} />
          {rule.source === 'config' && <Pill tone="outline">configuration</Pill>}
        </p>
        <p>{ruleText(rule)}</p>
        <SelectorChips selector={rule.node_selector} />
        {rule.reason !== null && <p>{rule.reason}</p>}
      </div>
    </Panel>
  )
}
