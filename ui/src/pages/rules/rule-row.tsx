import { ChevronRight, Pencil, Trash2 } from 'lucide-react'
import { useId, useState, type ReactNode } from 'react'
import { Link, useLocation } from 'wouter'
import type { RuleView } from '../../../../src/api/admin/rule-schemas.ts'
import { useChange } from '../../api/use-change.ts'
import { linkTo } from '../../links.ts'
import { IconButton } from '../../parts/button.tsx'
import { useConfirm } from '../../parts/confirm.tsx'
import { Hint } from '../../parts/hint.tsx'
import { Pill } from '../../parts/pill.tsx'
import table from '../../parts/table.module.css'
import { modeBadges, modeOf, policyTexts } from './rule-mode.ts'
import { RuleReasons } from './rule-reasons.tsx'
import { RuleStatus } from './rule-status.tsx'
import style from './rules-table.module.css'
import { SelectorChips } from './selector-chips.tsx'

const COLUMNS = 9

export function RuleRow({ rule, isModelKnown }: { rule: RuleView; isModelKnown: boolean }): ReactNode {
  const [isOpen, setOpen] = useState(false)
  const [, navigate] = useLocation()
  const detailsId = useId()
  const { model_name: name } = rule
  const mode = modeOf(rule)
  const hasReasons = rule.reason !== null || rule.last_decision !== null
  return (
    <>
      <tr>
        <td>
          <div className={style['name']}>
            {isModelKnown ? <Link href={linkTo.model(name)}>{name}</Link> : name}
            {rule.source === 'config' && (
              <Hint text={rule.warning ?? 'It comes from the configuration of a frontend.'}>
                <Pill tone="outline" tabIndex={0}>
                  configuration
                </Pill>
              </Hint>
            )}
          </div>
        </td>
        <td>
          <div className={style['status']}>
            <RuleStatus rule={rule} />
            {hasReasons && (
              <span className={isOpen ? style['open'] : ''}>
                <IconButton
                  icon={ChevronRight}
                  label={`Reasons for ${name}`}
                  aria-expanded={isOpen}
                  aria-controls={detailsId}
                  onClick={() => setOpen(!isOpen)}
                />
              </span>
            )}
          </div>
        </td>
        <td>
          <Pill tone={modeBadges[mode].tone}>{modeBadges[mode].text}</Pill>
        </td>
        <td>
          <SelectorChips selector={rule.node_selector} />
        </td>
        <Counts rule={rule} />
        <td className={table['number']}>
          {rule.ready} / {rule.wanted}
        </td>
        <td className={style['routing']}>{policyTexts[rule.route_policy] ?? rule.route_policy}</td>
        <td className={table['actions']}>
          <div className={style['actions']}>
            <IconButton icon={Pencil} label={`Edit the rule for ${name}`} onClick={() => navigate(linkTo.rule(name))} />
            <DeleteButton rule={rule} />
          </div>
        </td>
      </tr>
      {hasReasons && isOpen && (
        <tr id={detailsId}>
          <td colSpan={COLUMNS}>
            <RuleReasons rule={rule} />
          </td>
        </tr>
      )}
    </>
  )
}

function Counts({ rule }: { rule: RuleView }): ReactNode {
  const mode = modeOf(rule)
  if (mode === 'spread') {
    return (
      <td colSpan={2} className={table['number']}>
        <Pill tone="accent">all matching nodes</Pill>
      </td>
    )
  }
  const { min_replicas: min, max_replicas: max } = rule
  return (
    <>
      <td className={table['number']}>{mode === 'auto' ? min : '–'}</td>
      <td className={table['number']}>{mode === 'auto' ? (max === 0 ? 'no limit' : max) : '–'}</td>
    </>
  )
}

function DeleteButton({ rule: { model_name: name, warning } }: { rule: RuleView }): ReactNode {
  const confirm = useConfirm()
  const remove = useChange('deleteRule', { done: `The rule for ${name} was removed.` })
  const ask = async (): Promise<void> => {
    const isSure = await confirm({
      title: `Remove the rule for ${name}?`,
      text: (
        <>
          <p>What runs stays loaded until its memory is needed. New replicas are started only when somebody asks.</p>
          {warning !== null && <p>{warning}</p>}
        </>
      ),
      confirm: 'Remove the rule',
      isDanger: true,
    })
    if (isSure) remove.mutate({ params: { name } })
  }
  return (
    <IconButton
      icon={Trash2}
      label={`Remove the rule for ${name}`}
      busy={remove.isPending}
      onClick={() => void ask()}
    />
  )
}
