import type { Loading } from '../../api/load-status.ts'
import { formatBytes } from '../../core/lib/bytes.ts'
import { span } from '../terminal/format.ts'
import { plain } from '../terminal/text-width.ts'

/** `staging on gpu-1, 43 % of 4.1 GiB, file 1 of 3, about 40s left`, with what is not known left out. */
export function loadingText(loading: Loading): string {
  const { state, node, progress, total_bytes: total, file_index: file, total_files: files, eta_seconds: eta } = loading
  if (state === 'waiting') return 'waiting to be placed'
  return [
    `${state}${node === null ? '' : ` on ${plain(node)}`}`,
    ...(total > 0 ? [`${progress} % of ${formatBytes(total)}`] : []),
    ...(files > 1 && file > 0 ? [`file ${file} of ${files}`] : []),
    ...(eta === undefined ? [] : [`about ${span(eta * 1000)} left`]),
  ].join(', ')
}
