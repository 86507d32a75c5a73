import type { ReactNode } from 'react'
import berth from './berth.module.css'
import style from './legend.module.css'

const STATES = [
  ['ok', 'ready'],
  ['busy', 'on its way'],
  ['warn', 'leaving'],
  ['bad', 'failed'],
  ['free', 'free slot'],
] as const

/** What the colours of berths mean. */
export function Legend(): ReactNode {
  return (
    <ul className={style['legend']} aria-label="Colours of replicas">
      {STATES.map(([tone, text]) => (
        <li key={tone}>
          <span className={`${berth['berth']} ${berth['small']} ${berth[tone]}`} aria-hidden />
          {text}
        </li>
      ))}
    </ul>
  )
}
