import type { ReplicaView } from '../../api/admin/schemas.ts'
import type { View } from '../client.ts'
import { progressText } from '../terminal/progress.ts'
import type { Look } from '../terminal/style.ts'
import type { Cell } from '../terminal/table.ts'
import { plain } from '../terminal/text-width.ts'
import { wrap } from '../terminal/wrap.ts'

const stateLooks: Record<ReplicaView['state'], Look> = {
  reserved: 'yellow',
  installing: 'yellow',
  staging: 'yellow',
  loading: 'yellow',
  ready: 'green',
  draining: 'cyan',
  stopping: 'cyan',
  failed: 'red',
}

/** `staging 43 % of 4.1 GiB, 52 MB/s`, `failed: out of memory`: how a replica is, on one line. */
export function replicaText({ state, progress, error }: ReplicaView): Required<Cell> {
  const far = progress ? progressText(progress) : ''
  const why = error === null ? '' : `: ${plain(error.trim().split('\n')[0]!)}`
  return { text: `${state}${far === '' ? '' : ` ${far}`}${why}`, look: stateLooks[state] }
}

const ERROR_INDENT = 4
/** Engines say a lot when they fail; the log has the rest. */
const MOST_ERROR_LINES = 4

/** The lines of a table of replicas, with the error of each below its row. */
export function withErrors(lines: readonly string[], replicas: readonly ReplicaView[], view: View): string[] {
  // The titles take two lines where the table is too wide.
  const first = lines.length - replicas.length
  return lines.flatMap((line, i) => [line, ...errorLines(replicas[i - first]?.error ?? null, view)])
}

/** What went wrong, below the row that it belongs to. */
export function errorLines(error: string | null, { width, paint }: View): string[] {
  if (error === null) return []
  const lines = wrap(plain(error), width - ERROR_INDENT, { breakWords: true })
  const kept = lines.length > MOST_ERROR_LINES ? [...lines.slice(0, MOST_ERROR_LINES), '…'] : lines
  return kept.map((line) => ' '.repeat(ERROR_INDENT) + paint('red', line))
}
