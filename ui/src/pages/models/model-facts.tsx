import type { ReactNode } from 'react'
import type { LiveModel } from '../../../../src/api/admin/live-schemas.ts'
import type { ModelView } from '../../../../src/api/admin/model-schemas.ts'
import type { ReplicaView } from '../../../../src/api/admin/schemas.ts'
import { bytesText } from '../../format/bytes.ts'
import { durationText } from '../../format/figures.ts'
import { useNodes } from '../../live/use-live.ts'
import { Ago } from '../../parts/ago.tsx'
import { Panel } from '../../parts/page.tsx'
import { memoryPerReplica } from './model-memory.ts'
import style from './model-page.module.css'
import { optionText } from './option-text.ts'

/** What an admin has set, and what is known of it since. */
export function ModelSettings({ model, replicas }: { model: LiveModel; replicas: readonly ReplicaView[] }): ReactNode {
  const hasGpu = useNodes().some(({ devices }) => devices.length > 0)
  const memory = memoryPerReplica(model, replicas, hasGpu)
  const { engine, source, options, anti_affinity: apart, last_loaded_at: loadedAt, last_load_ms: loadMs } = model
  return (
    <Panel title="Settings">
      <Facts
        facts={[
          ['Engine', engine],
          ['Source', source ?? 'none'],
          ...Object.entries(options).map(([key, value]): Fact => [key, <code key={key}>{optionText(value)}</code>]),
          [
            'Memory per replica',
            memory ? `${bytesText(memory.bytes)} (${memory.source})` : 'found out when it is loaded',
          ],
          ['Kept apart by', apart],
          ['Revision', <code key="revision">{model.revision}</code>],
          ['Made by', model.origin === 'folder' ? 'the folder that a frontend serves' : 'an admin'],
          ['Changed', <Ago key="changed" at={model.updated_at} />],
          [
            'Last loaded',
            loadedAt === null ? (
              'never'
            ) : (
              <span key="loaded">
                <Ago at={loadedAt} /> in {durationText(loadMs)}
              </span>
            ),
          ],
        ]}
      />
    </Panel>
  )
}

export function ModelFiles({ model }: { model: LiveModel }): ReactNode {
  return (
    <Panel title="What its files say">
      {model.header === null && model.payload_bytes === null ? (
        <p>Nothing: they have not been read yet, or say nothing of this kind.</p>
      ) : (
        <HeaderFacts header={model.header} payloadBytes={model.payload_bytes} />
      )}
    </Panel>
  )
}

export function HeaderFacts({
  header,
  payloadBytes,
}: {
  header: ModelView['header']
  payloadBytes: number | null
}): ReactNode {
  return (
    <Facts
      facts={[
        ['Size', payloadBytes === null ? null : bytesText(payloadBytes)],
        ['Format', header?.format ?? null],
        ['Architecture', header?.architecture ?? null],
        ['Quantisation', header?.quantisation ?? null],
        ['Context', header && header.context > 0 ? `${header.context.toLocaleString('en')} tokens` : null],
        ['Layers', header && header.layers > 0 ? header.layers : null],
        ['Vocabulary', header && header.vocabulary > 0 ? `${header.vocabulary.toLocaleString('en')} tokens` : null],
        ['Weights', header ? bytesText(header.weights_bytes) : null],
      ]}
    />
  )
}

/** A fact that is not known is left out. */
type Fact = readonly [label: string, value: ReactNode]

function Facts({ facts }: { facts: readonly Fact[] }): ReactNode {
  return (
    <dl className={style['facts']}>
      {facts.map(
        ([label, value]) =>
          value !== null && (
            <div key={label}>
              <dt>{label}</dt>
              <dd>{value}</dd>
            </div>
          ),
      )}
    </dl>
  )
}
