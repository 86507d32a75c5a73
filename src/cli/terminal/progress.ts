import type { ProgressMessage } from '../../api/bus/messages.ts'
import { barText } from './bar.ts'
import { plain } from './text-width.ts'
import { formatBytes } from '../../core/lib/bytes.ts'

/** `43 % of 4.1 GiB, 52 MB/s`, with what is not known left out; what a command says, when there are no bytes to count. */
export function progressText(progress: ProgressMessage): string {
  const { file, done_bytes: done, total_bytes: total, bytes_per_s: rate } = progress
  const far = total
    ? `${percent(done, total)} % of ${formatBytes(total)}`
    : done > 0
      ? `${formatBytes(done)} so far`
      : plain(file ?? '')
  return [far, rate ? rateText(rate) : ''].filter((text) => text !== '').join(', ')
}

/** Of a terminal alone: elsewhere it says nothing that the words do not. */
export function progressBar({ done_bytes: done, total_bytes: total }: ProgressMessage): string {
  return barText(done, total)
}

/** `43 %`; empty while unknown. */
export function shareText({ done_bytes: done, total_bytes: total }: ProgressMessage): string {
  return total ? `${percent(done, total)} %` : ''
}

/** Never 100 before it is whole. */
function percent(done: number, total: number): number {
  return Math.min(100, Math.floor((100 * done) / total))
}

function rateText(bytesPerS: number): string {
  const [unit, bytes] = bytesPerS < 1e6 ? ['kB', 1e3] : bytesPerS < 1e9 ? ['MB', 1e6] : ['GB', 1e9]
  const amount = bytesPerS / bytes
  return `${amount.toFixed(amount < 10 ? 1 : 0)} ${unit}/s`
}
