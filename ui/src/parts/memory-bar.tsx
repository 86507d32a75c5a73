import type { ReactNode } from 'react'
import { bytesText } from '../format/bytes.ts'
import style from './memory-bar.module.css'

interface MemoryBarProps {
  /** What it is the memory of: `GPU 0`, `RAM`. */
  label: string
  total: number
  /** Null when nobody knows. */
  available: number | null
  /** Held for replicas that do not use it yet. */
  claimed: number
  /** Without the text above it: where there is no room. */
  bare?: boolean
}

/** Memory in use, held and free. */
export function MemoryBar({ label, total, available, claimed, bare }: MemoryBarProps): ReactNode {
  const used = available === null ? 0 : Math.max(0, total - available)
  const held = Math.min(claimed, Math.max(0, total - used))
  const text = `${available === null ? '–' : bytesText(used)} / ${bytesText(total)}`
  const spoken = `${label}: ${bytesText(used)} of ${bytesText(total)} in use${held > 0 ? `, ${bytesText(held)} reserved` : ''}`
  const share = (bytes: number): string => `${total === 0 ? 0 : (100 * bytes) / total}%`
  return (
    <div className={style['memory']}>
      {!bare && (
        <div className={style['text']} aria-hidden>
          <span>{label}</span>
          <span className="figures">
            {text}
            {held > 0 && <span className={style['reserved']}> +{bytesText(held)} reserved</span>}
          </span>
        </div>
      )}
      <div
        className={style['bar']}
        role="meter"
        aria-label={spoken}
        aria-valuemin={0}
        aria-valuemax={total}
        aria-valuenow={used}
        title={spoken}
      >
        <span className={style['used']} style={{ width: share(used) }} />
        {held > 0 && <span className={style['held']} style={{ width: share(held) }} />}
      </div>
    </div>
  )
}
