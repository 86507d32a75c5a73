import type { ProgressMessage } from '../../api/bus/messages.ts'
import type { BackendView, NodeView } from '../../api/admin/schemas.ts'
import { barBefore } from '../terminal/bar.ts'
import { progressText, shareText } from '../terminal/progress.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { plain, truncate } from '../terminal/text-width.ts'
import type { OperationKind } from './operation.ts'

type Running = readonly { node: NodeView; engine: BackendView }[]

/** Shows the progress of nodes: on a terminal one line that is rewritten, elsewhere a line for each tenth. */
export function tellProgress(terminal: Terminal): (running: Running, kind: OperationKind) => void {
  const told = new Map<string, string>()
  return (running, kind) => {
    if (terminal.interactive) {
      terminal.live(truncate(onOneLine(running, kind, terminal.columns), terminal.columns - 1))
      return
    }
    for (const { node, engine } of running) {
      const text = `${plain(node.name)}: ${doing(engine, kind, tenths)}`
      if (told.get(node.id) !== text) terminal.live(text)
      told.set(node.id, text)
    }
  }
}

/** For several nodes only the percentages: there is no room for more. */
function onOneLine(running: Running, kind: OperationKind, columns: number): string {
  const { node, engine } = running[0]!
  if (running.length === 1) {
    const { done_bytes: done = 0, total_bytes: total = null } = engine.operation?.progress ?? {}
    return `${plain(node.name)}: ${barBefore(columns, done, total)}${doing(engine, kind)}`
  }
  const shares = running.map((one) => {
    const progress = one.engine.operation?.progress
    return `${plain(one.node.name)} ${(progress && shareText(progress)) || '…'}`
  })
  return `${kind} ${plain(engine.name)}: ${shares.join(', ')}`
}

function doing(engine: BackendView, kind: OperationKind, round = (progress: ProgressMessage) => progress): string {
  const progress = engine.operation?.progress
  const far = progress ? progressText(round(progress)) : ''
  return [kind, plain(engine.name), far].filter((text) => text !== '').join(' ')
}

function tenths(progress: ProgressMessage): ProgressMessage {
  const { done_bytes: done, total_bytes: total } = progress
  const rounded = total ? Math.ceil((Math.floor((10 * done) / total) * total) / 10) : 0
  return { ...progress, done_bytes: rounded, bytes_per_s: null }
}
