import type { ModelView } from '../../api/admin/model-schemas.ts'
import type { RuleView } from '../../api/admin/rule-schemas.ts'
import type { NodeView, ReplicaView } from '../../api/admin/schemas.ts'
import { replicaKey } from '../../core/lib/replica-key.ts'
import type { View } from '../client.ts'
import { counted, gib, shellWord } from '../terminal/format.ts'
import { takenBytes } from '../text/memory-text.ts'
import { replicaText } from '../text/replica-text.ts'
import type { Look } from '../terminal/style.ts'
import { table } from '../terminal/table.ts'
import { plain } from '../terminal/text-width.ts'
import { wrap } from '../terminal/wrap.ts'
import { sourceText } from './source-text.ts'

export interface ModelsAndReplicas {
  models: readonly ModelView[]
  replicas: readonly ReplicaView[]
  rules: readonly RuleView[]
  nodes: readonly NodeView[]
}

/** Replicas that are not ready get a line each, up to so many for a model. */
const MOST_LINES = 6
/** An error may go on for so many lines; the log has the rest. */
const MOST_WRAPPED = 2
const INDENT = '  '

/** All models; below each what is on the way and what has failed. */
export function renderModels(all: ModelsAndReplicas, view: View): string[] {
  if (all.models.length === 0) {
    return [
      'There are no models yet.',
      `flotilla models add${view.sameCluster} adds one; see flotilla models add --help.`,
    ]
  }
  const replicasOf = ({ name }: ModelView): ReplicaView[] =>
    all.replicas.filter((replica) => replica.model_name === name)
  const [title, ...rows] = table(
    [
      { title: 'MODEL', shrink: { to: 16, turn: 2 } },
      { title: 'STATE' },
      { title: 'READY', align: 'right' },
      { title: 'MEMORY', align: 'right', optional: true },
      { title: 'ENGINE', shrink: { to: 12, turn: 3 } },
      { title: 'SOURCE', shrink: { to: 12, turn: 1 } },
    ],
    all.models.map((model) => {
      const replicas = replicasOf(model)
      const ready = replicas.filter(({ state }) => state === 'ready').length
      return [
        plain(model.name),
        { text: model.state, look: stateLooks[model.state] },
        { text: `${ready}/${replicas.length}`, look: readyLook(ready, replicas) },
        memoryText(model, replicas),
        plain(model.engine),
        plain(sourceText(model.source).replace(/#sha256=.*$/, '')),
      ]
    }),
    view,
  )
  const below = all.models.map((model) => linesBelow(model, replicasOf(model), all, view))
  return [title!, ...rows.flatMap((row, i) => [row, ...below[i]!])]
}

const stateLooks: Record<ModelView['state'], Look> = {
  ready: 'green',
  starting: 'yellow',
  failed: 'red',
  stopped: 'dim',
}

/** The memory of one replica; for a model that does not run, the configured memory. */
function memoryText({ memory }: ModelView, replicas: readonly ReplicaView[]): string {
  const bytes = takenBytes(replicas) ?? (memory && (memory.vram || memory.ram))
  return bytes === null ? '-' : gib(bytes)
}

function readyLook(ready: number, replicas: readonly ReplicaView[]): Look {
  if (replicas.length === 0) return 'dim'
  if (replicas.some(({ state }) => state === 'failed')) return 'red'
  return ready === replicas.length ? 'green' : 'yellow'
}

function linesBelow(
  { name }: ModelView,
  replicas: readonly ReplicaView[],
  { nodes, rules }: ModelsAndReplicas,
  { width, paint, sameCluster }: View,
): string[] {
  const others = replicas.filter(({ state }) => state !== 'ready')
  const lines = others.slice(0, MOST_LINES).map((replica) => {
    const node = nodes.find(({ id }) => id === replica.node_id)?.name ?? replica.node_id
    const where = `${plain(replicaKey(name, replica.replica_index))} on ${plain(node)}:`
    const { text, look } = replicaText(replica)
    const [first, ...rest] = wrap(`${where} ${text}`, width - 2 * INDENT.length, { breakWords: true })
    const painted = first!.startsWith(where) ? where + paint(look, first!.slice(where.length)) : first!
    return [INDENT + painted, ...rest.slice(0, MOST_WRAPPED).map((line) => INDENT + INDENT + paint(look, line))]
  })
  const more = others.length - lines.length
  const missing = (rules.find(({ model_name: of }) => of === name)?.wanted ?? 0) - replicas.length
  return [
    ...lines.flat(),
    ...(more > 0 ? [`${INDENT}and ${counted(more, 'replica')} more that ${more === 1 ? 'is' : 'are'} not ready`] : []),
    ...(missing > 0
      ? [
          paint('yellow', `${INDENT}its rule asks for ${missing} more, and no node has been found yet:`),
          `${INDENT}${INDENT}flotilla why ${shellWord(name)}${sameCluster} tells what it waits for`,
        ]
      : []),
  ]
}
