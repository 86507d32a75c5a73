import { ArrowUp, Download, Trash2 } from 'lucide-react'
import { useState, type ReactNode } from 'react'
import type { BackendView, NodeView } from '../../../../../src/api/admin/schemas.ts'
import { IconButton } from '../../../parts/button.tsx'
import { Pill, type PillTone } from '../../../parts/pill.tsx'
import table from '../../../parts/table.module.css'
import { Progress } from '../progress.tsx'
import { versionText } from './engine-facts.ts'
import { InstallDialog } from './install-dialog.tsx'
import style from './node-engines.module.css'
import { useEngineChanges } from './use-engine-changes.ts'

const TONES: Record<BackendView['state'], PillTone> = {
  available: 'ok',
  installable: 'outline',
  missing: 'idle',
  installing: 'busy',
  broken: 'bad',
}

interface EngineRowProps {
  node: NodeView
  engine: BackendView
  isBusy: boolean
  /** The node has accepted to do something. */
  onAsked: (engine: BackendView) => void
}

export function EngineRow({ node, engine, isBusy, onAsked }: EngineRowProps): ReactNode {
  const { install, upgrade, remove, isSending } = useEngineChanges(node, engine.name, onAsked)
  const [isInstalling, setInstalling] = useState(false)
  const { name, source, state, version } = engine
  // What somebody else has put on the machine is theirs.
  const isOurs = version !== null
  const at = `${name} on ${node.name}`
  return (
    <tr>
      <td>
        <span className={style['name']}>
          {name}
          <Pill tone="outline">{source}</Pill>
        </span>
      </td>
      <td>
        <EngineState engine={engine} isBusy={isBusy} />
      </td>
      <td>{version === null ? '–' : <code title={version}>{versionText(version)}</code>}</td>
      <td className={`${table['actions']} ${style['actionCell']}`}>
        {(state === 'installable' || state === 'missing') && (
          <IconButton
            icon={Download}
            label={`Install ${at}`}
            busy={isBusy || isSending}
            // What comes by itself when it is needed needs no telling where from.
            onClick={state === 'installable' ? install : () => setInstalling(true)}
          />
        )}
        <InstallDialog
          node={node}
          engine={name}
          open={isInstalling}
          onClose={() => setInstalling(false)}
          onAsked={onAsked}
        />
        {isOurs && (
          <>
            <IconButton icon={ArrowUp} label={`Upgrade ${at}`} busy={isBusy || isSending} onClick={upgrade} />
            <IconButton icon={Trash2} label={`Delete ${at}`} disabled={isBusy || isSending} onClick={remove} />
          </>
        )}
      </td>
    </tr>
  )
}

function EngineState({ engine, isBusy }: { engine: BackendView; isBusy: boolean }): ReactNode {
  const { name, state, reason, operation } = engine
  const isRunning = operation?.state === 'running'
  return (
    <div className={style['state']}>
      <span aria-live="polite">
        <Pill tone={TONES[state] ?? 'idle'}>{state}</Pill>
      </span>
      {isBusy && !isRunning && <span className={table['sub']}>dispatched; waiting for the node to tell</span>}
      {isRunning && state !== 'installing' && <span className={table['sub']}>{operation.kind} is going on</span>}
      {isRunning && operation.progress && (
        <Progress progress={operation.progress} label={`${operation.kind} ${name}`} />
      )}
      {!isRunning && reason !== null && <span className={table['sub']}>{reason}</span>}
      {operation?.state === 'failed' && (
        <span className={style['failed']}>
          The last {operation.kind} failed: {operation.error ?? 'no reason was given'}
        </span>
      )}
    </div>
  )
}
