import { Tooltip } from '@base-ui/react/tooltip'
import type { ReactElement, ReactNode } from 'react'
import style from './hint.module.css'

/** Shows more about what is pointed at or focused. What matters must be on the page as well: nobody can touch a hint. */
export function Hint({
  text,
  children,
}: {
  text: ReactNode
  children: ReactElement<Record<string, unknown>>
}): ReactNode {
  return (
    <Tooltip.Root>
      <Tooltip.Trigger render={children} />
      <Tooltip.Portal>
        <Tooltip.Positioner sideOffset={6} className={style['positioner']}>
          <Tooltip.Popup className={style['hint']}>{text}</Tooltip.Popup>
        </Tooltip.Positioner>
      </Tooltip.Portal>
    </Tooltip.Root>
  )
}
