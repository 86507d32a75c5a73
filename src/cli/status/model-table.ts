import type { ClusterView } from '../../api/admin/cluster-schemas.ts'
import type { View } from '../client.ts'
import { counted } from '../terminal/format.ts'
import type { Look } from '../terminal/style.ts'
import { table } from '../terminal/table.ts'
import { plain } from '../terminal/text-width.ts'

type Model = ClusterView['models'][number]

const MOST_ROWS = 12

/** Those that lack something first, then the busiest; what more there are is counted. */
export function modelTable(models: readonly Model[], view: View): string[] {
  if (models.length === 0) {
    return [`There are no models yet: flotilla models add${view.sameCluster} adds one.`]
  }
  const isFew = models.length <= MOST_ROWS
  const shown = isFew ? models : models.toSorted(byInterest).slice(0, MOST_ROWS)
  const more = models.length - shown.length
  return [
    ...table(
      [
        { title: 'MODEL', shrink: { to: 12, turn: 1 } },
        { title: 'STATE' },
        { title: 'WANTED', align: 'right' },
        { title: 'READY', align: 'right' },
        { title: 'IN FLIGHT', align: 'right' },
      ],
      shown.map((model) => [
        plain(model.name),
        { text: model.state, look: looks[model.state] },
        model.wanted === null ? '-' : String(model.wanted),
        { text: `${model.ready}/${model.replicas}`, ...(isShort(model) ? { look: 'red' as const } : {}) },
        String(model.in_flight),
      ]),
      view,
    ),
    ...(more > 0 ? [`and ${counted(more, 'model')} more: flotilla models${view.sameCluster}`] : []),
  ]
}

const looks: Record<Model['state'], Look> = {
  ready: 'green',
  starting: 'yellow',
  failed: 'red',
  stopped: 'dim',
  undefined: 'red',
}

function isShort({ wanted, ready }: Model): boolean {
  return wanted !== null && ready < wanted
}

function byInterest(a: Model, b: Model): number {
  return Number(isShort(b)) - Number(isShort(a)) || b.in_flight - a.in_flight || b.replicas - a.replicas
}
