import type { ReactNode } from 'react'
import type { LiveModel } from '../../../../src/api/admin/live-schemas.ts'
import { durationText, rateText } from '../../format/figures.ts'
import { useTraffic } from '../../live/use-live.ts'
import { Panel } from '../../parts/page.tsx'
import { Sparkline } from '../../parts/sparkline.tsx'
import style from './model-page.module.css'

/** A model in numbers, as they are now. */
export function ModelFigures({ model }: { model: LiveModel }): ReactNode {
  const { name, ready_replicas: ready, wanted, in_flight: inFlight, waiting } = model
  const { models } = useTraffic()
  const traffic = Object.hasOwn(models, name) ? models[name] : undefined
  return (
    <Panel>
      <dl className={`${style['figures']} figures`}>
        <Figure label="Replicas ready">{wanted === null ? ready : `${ready} of ${wanted} wanted`}</Figure>
        <Figure label="In flight">{inFlight}</Figure>
        <Figure label="Waiting for a turn">{waiting}</Figure>
        <Figure label="Requests a second">
          {rateText(traffic?.rate ?? 0)}
          {traffic && traffic.history.length > 1 && (
            <Sparkline figures={traffic.history} label="Requests in the last minute" />
          )}
        </Figure>
        <Figure label="Failing a second">{rateText(traffic?.error_rate ?? 0)}</Figure>
        <Figure label="Latency">{durationText(traffic?.latency_ms)}</Figure>
        <Figure label="First byte">{durationText(traffic?.first_byte_ms)}</Figure>
      </dl>
    </Panel>
  )
}

function Figure({ label, children }: { label: string; children: ReactNode }): ReactNode {
  return (
    <div className={style['figure']}>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  )
}
