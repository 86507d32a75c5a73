import { Download, Pause, Play } from 'lucide-react'
import type { ReactNode } from 'react'
import type { LogLine } from '../../../../src/api/admin/schemas.ts'
import { Button } from '../../parts/button.tsx'
import field from '../../parts/field.module.css'
import { Pill } from '../../parts/pill.tsx'
import { Segmented } from '../../parts/segmented.tsx'
import type { StreamFilter } from './log-filter.ts'
import style from './log-toolbar.module.css'
import type { LogState } from './use-log-lines.ts'

interface LogToolbarProps {
  stream: StreamFilter
  setStream: (stream: StreamFilter) => void
  search: string
  setSearch: (search: string) => void
  isPaused: boolean
  setPaused: (isPaused: boolean) => void
  isFollowed: boolean
  setFollowed: (isFollowed: boolean) => void
  isTextOnly: boolean
  setTextOnly: (isTextOnly: boolean) => void
  state: LogState
  /** What is shown, and so what is exported. */
  lines: readonly LogLine[]
  name: string
}

export function LogToolbar(props: LogToolbarProps): ReactNode {
  const { stream, setStream, search, setSearch, isPaused, setPaused, state, lines, name } = props
  return (
    <div className={style['tools']}>
      <Segmented
        label="Which stream"
        value={stream}
        onChange={setStream}
        options={[
          { value: 'all', label: 'All' },
          { value: 'stdout', label: 'stdout' },
          { value: 'stderr', label: 'stderr' },
        ]}
      />
      <input
        type="search"
        className={field['input']}
        aria-label="Search the log"
        placeholder="Search"
        value={search}
        onChange={({ target }) => setSearch(target.value)}
      />
      <label className={style['check']}>
        <input
          type="checkbox"
          checked={props.isFollowed}
          onChange={({ target }) => props.setFollowed(target.checked)}
        />
        Follow
      </label>
      <label className={style['check']}>
        <input
          type="checkbox"
          checked={props.isTextOnly}
          onChange={({ target }) => props.setTextOnly(target.checked)}
        />
        Text only
      </label>
      <Button small icon={isPaused ? Play : Pause} onClick={() => setPaused(!isPaused)}>
        {isPaused ? 'Go on' : 'Pause'}
      </Button>
      <Button small icon={Download} disabled={lines.length === 0} onClick={() => exportLines(lines, name)}>
        Export
      </Button>
      <span className={style['live']} role="status">
        {isPaused ? (
          <Pill tone="idle">Paused</Pill>
        ) : (
          <Pill tone={state === 'live' ? 'ok' : 'warn'} dot>
            {state === 'live' ? 'Live' : state === 'connecting' ? 'Connecting…' : 'Reconnecting…'}
          </Pill>
        )}
      </span>
    </div>
  )
}

function exportLines(lines: readonly LogLine[], name: string): void {
  const url = URL.createObjectURL(new Blob([JSON.stringify(lines, null, 2)], { type: 'application/json' }))
  const link = document.createElement('a')
  link.href = url
  link.download = `${name.replace(/[^\w.-]+/g, '-')}.json`
  link.click()
  URL.revokeObjectURL(url)
}
