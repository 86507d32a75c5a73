import type { BackendView } from '../../api/admin/schemas.ts'
import type { AtNode } from '../at-nodes.ts'
import type { View } from '../client.ts'
import { shellWord } from '../terminal/format.ts'
import { plain } from '../terminal/text-width.ts'
import { wrap } from '../terminal/wrap.ts'
import { shortVersion } from './engine-text.ts'
import type { Operation, OperationKind } from './operation.ts'

const done: Record<OperationKind, string> = { install: 'installed', upgrade: 'upgraded', delete: 'deleted' }

/** How it ended at one node, and which replicas were stopped for it. */
export function outcomeLines(result: AtNode<BackendView>, { kind, engine }: Operation, view: View): string[] {
  const name = plain(result.node.name)
  const lines = (text: string, indent = ''): string[] =>
    wrap(plain(text), view.width - indent.length).map((line) => indent + line)
  if (result.error) {
    const { message, details } = result.error
    const [first, ...more] = lines(`${name}: ${plain(engine)} was not ${done[kind]}: ${message}`)
    return [
      view.paint('red', first!),
      ...more.map((line) => view.paint('red', line)),
      ...stoppedLines(details['stopped']),
    ]
  }
  const { operation, state, reason, version } = result.reply
  if (operation?.state === 'running') {
    const how = `flotilla engines show ${shellWord(engine)} --node ${shellWord(result.node.name)}${view.sameCluster}`
    return [...lines(`${name}: ${kind} of ${plain(engine)} has begun.`), `  ${how} shows how far it is.`]
  }
  const which = version === null || kind === 'delete' ? '' : `, ${shortVersion(version)}`
  // Warns if the engine is installed and still cannot run.
  const but = kind === 'delete' || state === 'available' ? '' : ` It is ${state}${reason === null ? '' : `: ${reason}`}`
  return [...lines(`${name}: ${plain(engine)} is ${done[kind]}${which}.${but}`), ...stoppedLines(operation?.stopped)]

  function stoppedLines(stopped: unknown): string[] {
    if (!Array.isArray(stopped) || stopped.length === 0) return []
    return lines(`stopped for it: ${stopped.join(', ')}`, '  ')
  }
}
