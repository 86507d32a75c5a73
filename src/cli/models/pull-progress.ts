import type { ProgressMessage } from '../../api/bus/messages.ts'
import type { NodeView } from '../../api/admin/schemas.ts'
import type { PullReport } from '../../api/reports.ts'
import { progressBar, progressText, shareText } from '../terminal/progress.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { plain, truncate } from '../terminal/text-width.ts'

type Running = readonly { node: NodeView; report: PullReport }[]

/** Tells how far nodes are: on a terminal a bar that is written over, elsewhere a line for each tenth. */
export function pullTeller(terminal: Terminal, model: string): (running: Running) => void {
  const told = new Map<string, string>()
  return (running) => {
    if (terminal.interactive) {
      terminal.live(truncate(onOneLine(running, model), terminal.columns - 1))
      return
    }
    for (const { node, report } of running) {
      const { progress } = report
      const far = progress ? progressText(inTenths(progress)) : ''
      const text = `${plain(node.name)}: fetching ${model}${far && `, ${far}`}`
      if (told.get(node.id) !== text) terminal.live(text)
      told.set(node.id, text)
    }
  }
}

/** Of several nodes only the shares: there is no room for more. */
function onOneLine(running: Running, model: string): string {
  const [first] = running
  if (running.length > 1) {
    const shares = running.map(({ node, report }) => {
      return `${plain(node.name)} ${(report.progress && shareText(report.progress)) || '…'}`
    })
    return `${model}: ${shares.join(', ')}`
  }
  const { progress } = first!.report
  const where = plain(first!.node.name)
  return progress
    ? `${where} ${progressBar(progress)} ${progressText(progress)}`
    : `${where}: looking for the files of ${model}`
}

function inTenths(progress: ProgressMessage): ProgressMessage {
  const { done_bytes: done, total_bytes: total } = progress
  const rounded = total ? Math.ceil((Math.floor((10 * done) / total) * total) / 10) : 0
  return { ...progress, done_bytes: rounded, bytes_per_s: null }
}
