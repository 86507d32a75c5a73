import type { ReactNode } from 'react'
import { Link } from 'wouter'
import type { ReplicaView } from '../../../../src/api/admin/schemas.ts'
import { durationText, rateText } from '../../format/figures.ts'
import { bytesText } from '../../format/bytes.ts'
import { linkTo } from '../../links.ts'
import { ActionsHead } from '../../parts/actions-head.tsx'
import { SortHeader } from '../../parts/sort-header.tsx'
import { Sparkline } from '../../parts/sparkline.tsx'
import table from '../../parts/table.module.css'
import { ModelMenu } from './model-menu.tsx'
import { nextOrder, type ModelColumn, type ModelLine, type ModelOrder } from './model-order.ts'
import { ModelStatus } from './model-status.tsx'
import style from './models-table.module.css'

const SHORT_REVISION = 8
const NONE: readonly ReplicaView[] = []

const COLUMNS: readonly { column?: ModelColumn; text: string; isNumber?: boolean }[] = [
  { column: 'name', text: 'Model' },
  { column: 'state', text: 'State' },
  { column: 'replicas', text: 'Ready / wanted', isNumber: true },
  { column: 'memory', text: 'Memory per replica', isNumber: true },
  { column: 'rate', text: 'Requests/s', isNumber: true },
  { column: 'latency', text: 'Latency', isNumber: true },
  { column: 'engine', text: 'Engine' },
  { column: 'source', text: 'Source' },
  { text: 'Revision' },
]

interface ModelsTableProps {
  lines: readonly ModelLine[]
  byModel: ReadonlyMap<string, readonly ReplicaView[]>
  order: ModelOrder
  onOrder: (order: ModelOrder) => void
}

export function ModelsTable({ lines, byModel, order, onOrder }: ModelsTableProps): ReactNode {
  return (
    <div className={table['scroll']}>
      <table className={`${table['table']} ${table['reach']} ${style['table']}`}>
        <thead>
          <tr>
            {COLUMNS.map(({ column, text, isNumber = false }) =>
              column === undefined ? (
                <th key={text} scope="col">
                  {text}
                </th>
              ) : (
                <SortHeader
                  key={column}
                  isNumber={isNumber}
                  direction={order.column !== column ? undefined : order.isDescending ? 'descending' : 'ascending'}
                  onSort={() => onOrder(nextOrder(order, column))}
                >
                  {text}
                </SortHeader>
              ),
            )}
            <ActionsHead />
          </tr>
        </thead>
        <tbody>
          {lines.map((line) => (
            <Row key={line.model.name} line={line} replicas={byModel.get(line.model.name) ?? NONE} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

function Row({
  line: { model, memory, traffic },
  replicas,
}: {
  line: ModelLine
  replicas: readonly ReplicaView[]
}): ReactNode {
  const { name, engine, source, revision, wanted } = model
  return (
    <tr>
      <td className={style['name']}>
        <Link href={linkTo.model(name)}>{name}</Link>
      </td>
      <td>
        <ModelStatus model={model} />
      </td>
      <td className={table['number']}>
        {model.ready_replicas} / {wanted ?? '–'}
      </td>
      <td className={table['number']}>
        {memory ? (
          <>
            {bytesText(memory.bytes)} <span className={table['sub']}>{memory.source}</span>
          </>
        ) : (
          '–'
        )}
      </td>
      <td className={table['number']}>
        <span className={style['rate']}>
          {traffic && traffic.history.length > 1 && (
            <Sparkline
              figures={traffic.history}
              label={`Requests for ${name} in the last minute`}
              width={64}
              height={20}
            />
          )}
          {rateText(traffic?.rate ?? 0)}
        </span>
      </td>
      <td className={table['number']}>{durationText(traffic?.latency_ms)}</td>
      <td>{engine}</td>
      <td className={style['source']} title={source ?? undefined}>
        {source ?? '–'}
      </td>
      <td>
        <code title={revision}>{revision.slice(0, SHORT_REVISION)}</code>
      </td>
      <td className={table['actions']}>
        <ModelMenu model={model} replicas={replicas} />
      </td>
    </tr>
  )
}
