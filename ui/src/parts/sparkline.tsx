import type { ReactNode } from 'react'
import style from './sparkline.module.css'

/** The last figures as a line; the newest is on the right. */
export function Sparkline({
  figures,
  label,
  width = 120,
  height = 28,
}: {
  figures: readonly number[]
  label: string
  width?: number
  height?: number
}): ReactNode {
  const most = Math.max(1, ...figures)
  const step = figures.length > 1 ? width / (figures.length - 1) : width
  const points = figures.map(
    (figure, i) => `${(i * step).toFixed(1)},${(height - 1 - (figure / most) * (height - 3)).toFixed(1)}`,
  )
  return (
    <svg
      className={style['line']}
      viewBox={`0 0 ${width} ${height}`}
      width={width}
      height={height}
      role="img"
      aria-label={label}
    >
      {figures.length > 1 && (
        <>
          <polygon points={`0,${height} ${points.join(' ')} ${width},${height}`} />
          <polyline points={points.join(' ')} />
        </>
      )}
    </svg>
  )
}
