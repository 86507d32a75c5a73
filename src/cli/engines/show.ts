import type { BackendView, NodeView } from '../../api/admin/schemas.ts'
import type { View } from '../client.ts'
import { facts, type Fact } from '../facts.ts'
import { progressText } from '../terminal/progress.ts'
import { plain } from '../terminal/text-width.ts'
import { stateLooks } from './engine-text.ts'

/** Everything about one engine, node by node. */
export function renderEngine(
  name: string,
  all: readonly { node: NodeView; engine: BackendView }[],
  view: View,
): string[] {
  const { paint } = view
  return [
    paint('bold', plain(name)),
    ...all.flatMap(({ node, engine }) => [
      '',
      `${paint('bold', plain(node.name))}  ${paint(stateLooks[engine.state], engine.state)}`,
      ...facts(factsOf(engine), view),
    ]),
  ]
}

function factsOf({ source, version, reason, serves, operation }: BackendView): Fact[] {
  return [
    ['Profile', source === 'built-in' ? 'built-in' : 'of a user'],
    ...(reason === null ? [] : [['Reason', reason] as const]),
    ...(version === null ? [] : [['Version', version] as const]),
    ['Serves', serves.length === 0 ? 'nothing' : serves.join(', ')],
    ...(operation === null ? [] : [['Last done', ...operationTexts(operation)] as const]),
  ]
}

function operationTexts({ kind, state, error, stopped, progress }: NonNullable<BackendView['operation']>): string[] {
  const far = state === 'running' && progress ? progressText(progress) : ''
  return [
    [`${kind} ${state}`, far].filter((text) => text !== '').join(', ') + (error === null ? '' : `: ${error}`),
    ...(stopped.length === 0 ? [] : [`stopped for it: ${stopped.join(', ')}`]),
  ]
}
