import { useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useRef, type ReactNode } from 'react'
import type { LogLine } from '../../../../src/api/admin/schemas.ts'
import { preciseText } from '../../format/time.ts'
import { Empty } from '../../parts/notice.tsx'
import style from './log-lines.module.css'

interface LogLinesProps {
  lines: readonly LogLine[]
  isFollowed: boolean
  isTextOnly: boolean
  /** Lines of several replicas: each names its own. */
  isMerged: boolean
  nothing: string
}

const LINE_PX = 21

/** Only the lines that can be seen are on the page, however many there are. */
export function LogLines({ lines, isFollowed, isTextOnly, isMerged, nothing }: LogLinesProps): ReactNode {
  const box = useRef<HTMLDivElement>(null)
  const rows = useVirtualizer({
    count: lines.length,
    getScrollElement: () => box.current,
    estimateSize: () => LINE_PX,
    getItemKey: (i) => lines[i]!.seq,
    overscan: 20,
  })
  const lastSeq = lines.at(-1)?.seq
  useEffect(() => {
    if (isFollowed && lines.length > 0) rows.scrollToIndex(lines.length - 1, { align: 'end' })
  }, [isFollowed, lastSeq, lines.length, rows])
  if (lines.length === 0) return <Empty>{nothing}</Empty>
  return (
    // Scrolled by keyboard as well, so it can be focused.
    <div ref={box} className={style['box']} role="log" aria-label="Log lines" aria-live="off" tabIndex={0}>
      <div className={style['all']} style={{ height: rows.getTotalSize() }}>
        {rows.getVirtualItems().map((row) => {
          const line = lines[row.index]!
          return (
            <div
              key={row.key}
              ref={rows.measureElement}
              data-index={row.index}
              className={style['line']}
              style={{ transform: `translateY(${row.start}px)` }}
            >
              {!isTextOnly && (
                <>
                  <time className={style['time']}>{preciseText(line.at)}</time>
                  <span className={line.stream === 'stderr' ? style['stderr'] : style['stdout']}>{line.stream}</span>
                </>
              )}
              {isMerged && <span className={style['replica']}>{line.replica}</span>}
              <span className={style['text']}>{line.text}</span>
            </div>
          )
        })}
      </div>
    </div>
  )
}
