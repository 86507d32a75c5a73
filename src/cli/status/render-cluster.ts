import type { ClusterView } from '../../api/admin/cluster-schemas.ts'
import type { View } from '../client.ts'
import { counted, gibOf } from '../terminal/format.ts'
import { wrap } from '../terminal/wrap.ts'
import { modelTable } from './model-table.ts'
import { nodeTable } from './node-table.ts'
import { problemLines } from './problem-lines.ts'

/** One screen: all in a line or two, the nodes, the models, and what is wrong. */
export function renderCluster(cluster: ClusterView, view: View): string[] {
  const { paint, width } = view
  const section = (lines: readonly string[]): string[] => (lines.length === 0 ? [] : ['', ...lines])
  const isWell = cluster.problems.length === 0
  return [
    ...[nodesText(cluster), modelsText(cluster)].flatMap((text) => wrap(text, width)),
    ...section(nodeTable(cluster.nodes, view)),
    ...section(modelTable(cluster.models, view)),
    '',
    ...(isWell ? [paint('green', 'Nothing is wrong.')] : problemLines(cluster.problems, view)),
  ]
}

/** `12 nodes (10 healthy, 2 offline), 180.2 of 288.0 GiB of VRAM free`. */
function nodesText({ nodes }: ClusterView): string {
  if (nodes.length === 0) return 'No nodes'
  const counts = [...Map.groupBy(nodes, ({ status }) => status)].map(([status, some]) => `${some.length} ${status}`)
  const healthy = nodes.filter(({ status }) => status === 'healthy' || status === 'draining')
  const free = freeText(healthy)
  return `${counted(nodes.length, 'node')} (${counts.join(', ')})${free === '' ? '' : `, ${free}`}`
}

/** Of those that answer; what a silent one last said is no longer so. */
function freeText(nodes: ClusterView['nodes']): string {
  const sum = (field: 'total_vram' | 'available_vram' | 'total_ram' | 'available_ram'): number =>
    nodes.reduce((total, node) => total + (node[field] ?? 0), 0)
  const [vram, ram] = [sum('total_vram'), sum('total_ram')]
  const texts = [
    ...(vram > 0 ? [`${gibOf(sum('available_vram'), vram)} of VRAM`] : []),
    ...(ram > 0 ? [`${gibOf(sum('available_ram'), ram)} of RAM`] : []),
  ]
  return texts.length === 0 ? '' : `${texts.join(' and ')} free`
}

function modelsText({ models }: ClusterView): string {
  const sum = (field: 'ready' | 'replicas' | 'in_flight'): number =>
    models.reduce((total, model) => total + model[field], 0)
  const replicas = `${sum('ready')} of ${counted(sum('replicas'), 'replica')} ready`
  return `${counted(models.length, 'model')}, ${replicas}, ${counted(sum('in_flight'), 'request')} in flight`
}
