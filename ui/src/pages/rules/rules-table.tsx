import type { ReactNode } from 'react'
import type { RuleView } from '../../../../src/api/admin/rule-schemas.ts'
import { useModels } from '../../live/use-live.ts'
import { ActionsHead } from '../../parts/actions-head.tsx'
import table from '../../parts/table.module.css'
import { RuleRow } from './rule-row.tsx'
import style from './rules-table.module.css'

export function RulesTable({ rules }: { rules: readonly RuleView[] }): ReactNode {
  const known = new Set(useModels().map(({ name }) => name))
  return (
    <div className={table['scroll']}>
      <table className={`${table['table']} ${table['reach']} ${style['table']}`}>
        <thead>
          <tr>
            <th scope="col">Model</th>
            <th scope="col">Status</th>
            <th scope="col">Mode</th>
            <th scope="col">Nodes</th>
            <th scope="col" className={table['number']}>
              Min
            </th>
            <th scope="col" className={table['number']}>
              Max
            </th>
            <th scope="col" className={table['number']}>
              Ready / wanted
            </th>
            <th scope="col" className={style['routing']}>
              Routing
            </th>
            <ActionsHead />
          </tr>
        </thead>
        <tbody>
          {rules.map((rule) => (
            <RuleRow key={rule.model_name} rule={rule} isModelKnown={known.has(rule.model_name)} />
          ))}
        </tbody>
      </table>
    </div>
  )
}
