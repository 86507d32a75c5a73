import { useEffect, useRef, useState } from 'react'
import type { LogLine } from '../../../../src/api/admin/schemas.ts'
import { call, urlOf } from '../../api/call.ts'

export type LogState = 'connecting' | 'live' | 'reconnecting'

export interface Log {
  lines: readonly LogLine[]
  state: LogState
  /** Why there is no connection; undefined when there is one. */
  problem: string | undefined
}

/** Kept on the page; older ones are on the node. */
const MOST_LINES = 20_000
const FIRST_LINES = 5000
const RETRY_MS = 3000

/**
 * Follows a log: what there is, then every line as it is written. After a lost connection it goes on behind the last line,
 * so none is missed or shown twice. While paused, lines are gathered and shown later.
 */
export function useLogLines(nodeId: string, key: string, isPaused: boolean): Log {
  const [log, setLog] = useState<Log>({ lines: [], state: 'connecting', problem: undefined })
  const paused = useRef(isPaused)
  const showNow = useRef(() => {})
  useEffect(() => {
    paused.current = isPaused
    if (!isPaused) showNow.current()
  }, [isPaused])

  useEffect(() => {
    let source: EventSource | undefined
    let retry: ReturnType<typeof setTimeout> | undefined
    let frame = 0
    let lastSeq = 0
    let fresh: LogLine[] = []
    let isOver = false

    const show = (): void => {
      frame = 0
      if (paused.current || fresh.length === 0) return
      const added = fresh
      fresh = []
      setLog((old) => ({ ...old, lines: [...old.lines, ...added].slice(-MOST_LINES) }))
    }
    showNow.current = show
    const open = (): void => {
      const after = lastSeq > 0 ? { after: lastSeq } : { limit: FIRST_LINES }
      source = new EventSource(urlOf('readLogs', { params: { id: nodeId, key }, query: { follow: '1', ...after } }))
      source.addEventListener('open', () => setLog((old) => ({ ...old, state: 'live', problem: undefined })))
      source.addEventListener('message', ({ data }: MessageEvent<string>) => {
        const line = JSON.parse(data) as LogLine
        if (line.seq <= lastSeq) return
        lastSeq = line.seq
        fresh.push(line)
        // Many lines in one go are drawn once.
        if (frame === 0) frame = requestAnimationFrame(show)
      })
      source.addEventListener('error', () => {
        source?.close()
        setLog((old) => ({ ...old, state: 'reconnecting' }))
        void explain()
        retry = setTimeout(open, RETRY_MS)
      })
    }
    /** A stream that fails does not say why; the same question without following does. */
    const explain = async (): Promise<void> => {
      const problem = await call('readLogs', { params: { id: nodeId, key }, query: { limit: 1 } }).then(
        () => undefined,
        (error: Error) => error.message,
      )
      if (!isOver) setLog((old) => (old.state === 'live' ? old : { ...old, problem }))
    }
    open()
    return () => {
      isOver = true
      source?.close()
      clearTimeout(retry)
      cancelAnimationFrame(frame)
    }
  }, [nodeId, key])
  return log
}
