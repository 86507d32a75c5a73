import { useState, type ReactNode } from 'react'
import { Link, useLocation } from 'wouter'
import { parseReplicaKey } from '../../../../src/core/lib/replica-key.ts'
import { useAnswer } from '../../api/use-answer.ts'
import { linkTo } from '../../links.ts'
import { useNode, useReplicasOn } from '../../live/use-live.ts'
import { Notice } from '../../parts/notice.tsx'
import { Page, Panel } from '../../parts/page.tsx'
import { Pill } from '../../parts/pill.tsx'
import { Segmented } from '../../parts/segmented.tsx'
import { filterLines, type StreamFilter } from './log-filter.ts'
import { LogLines } from './log-lines.tsx'
import { LogToolbar } from './log-toolbar.tsx'
import { useLogLines } from './use-log-lines.ts'

/** The log of a replica, or of all replicas of a model on a node. It stays readable after they have ended. */
export function LogsPage({ nodeId, logKey }: { nodeId: string; logKey: string }): ReactNode {
  const node = useNode(nodeId)
  const keys = useKeys(nodeId, logKey)
  const replica = keys.includes(logKey) ? parseReplicaKey(logKey) : undefined
  const modelName = replica?.modelName ?? logKey
  const [isPaused, setPaused] = useState(false)
  const [isFollowed, setFollowed] = useState(true)
  const [isTextOnly, setTextOnly] = useState(false)
  const [stream, setStream] = useState<StreamFilter>('all')
  const [search, setSearch] = useState('')
  const log = useLogLines(nodeId, logKey, isPaused)
  const lines = filterLines(log.lines, stream, search)
  const isMerged = !replica && keys.length > 1
  return (
    <Page
      title={`Logs of ${logKey}`}
      heading={
        <>
          {modelName}
          {replica && <Pill tone="outline">replica {replica.replicaIndex}</Pill>}
          {isMerged && <Pill tone="outline">merged · {keys.length} replicas</Pill>}
        </>
      }
      about={
        <>
          on <Link href={linkTo.node(nodeId)}>{node?.name ?? nodeId}</Link>
        </>
      }
    >
      {keys.length > 1 && <WhichReplica nodeId={nodeId} logKey={logKey} modelName={modelName} keys={keys} />}
      {log.problem !== undefined && <Notice tone="warn">{log.problem}</Notice>}
      <Panel flush>
        <LogToolbar
          {...{
            stream,
            setStream,
            search,
            setSearch,
            isPaused,
            setPaused,
            isFollowed,
            setFollowed,
            isTextOnly,
            setTextOnly,
          }}
          state={log.state}
          lines={lines}
          name={`${node?.name ?? nodeId}-${logKey}`}
        />
        <LogLines
          lines={lines}
          isFollowed={isFollowed}
          isTextOnly={isTextOnly}
          isMerged={isMerged}
          nothing={
            log.lines.length === 0
              ? 'No log lines yet. What the engine writes appears here.'
              : `None of the ${log.lines.length} lines matches: change the filter or the search.`
          }
        />
      </Panel>
    </Page>
  )
}

/** Keys of the model's replicas on the node: those that have logs, and those that run. */
function useKeys(nodeId: string, logKey: string): string[] {
  const listed = useAnswer('listLogs', { params: { id: nodeId } }, { follows: true })
  const running = useReplicasOn(nodeId)
  const modelName = parseReplicaKey(logKey)?.modelName ?? logKey
  const entry = listed.data?.find(({ model_name: name }) => name === modelName || name === logKey)
  const live = running
    .filter(({ model_name: name }) => name === (entry?.model_name ?? modelName))
    .map(({ model_name: name, replica_index: index }) => `${name}#${index}`)
  const keys = [...new Set([...(entry?.replicas.map(({ key }) => key) ?? []), ...live])]
  return keys.toSorted((a, b) => (parseReplicaKey(a)?.replicaIndex ?? 0) - (parseReplicaKey(b)?.replicaIndex ?? 0))
}

function WhichReplica({
  nodeId,
  logKey,
  modelName,
  keys,
}: {
  nodeId: string
  logKey: string
  modelName: string
  keys: readonly string[]
}): ReactNode {
  const [, navigate] = useLocation()
  return (
    <Segmented
      label="Which replica"
      value={logKey}
      onChange={(key) => navigate(linkTo.logs(nodeId, key))}
      options={[
        ...keys.map((key) => ({ value: key, label: `Replica ${parseReplicaKey(key)?.replicaIndex ?? key}` })),
        { value: modelName, label: 'All merged' },
      ]}
    />
  )
}
