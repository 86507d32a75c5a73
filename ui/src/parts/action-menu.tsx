import { Menu } from '@base-ui/react/menu'
import { EllipsisVertical, type LucideIcon } from 'lucide-react'
import type { ReactNode } from 'react'
import style from './action-menu.module.css'

export interface Action {
  label: string
  icon: LucideIcon
  onSelect: () => void
  isDanger?: boolean
  disabled?: boolean
  /** Left out when true, so that a list can be written down whole. */
  hidden?: boolean
}

/** A kebab menu. `'divider'` stands between groups. */
export function ActionMenu({ label, actions }: { label: string; actions: readonly (Action | 'divider')[] }): ReactNode {
  const shown = actions.filter((action) => action === 'divider' || !action.hidden)
  return (
    // Not modal: a modal menu would take the page's scroll bar away and shift everything.
    <Menu.Root modal={false}>
      <Menu.Trigger className={style['trigger']} aria-label={label}>
        <EllipsisVertical size={16} aria-hidden />
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Positioner className={style['positioner']} align="end" sideOffset={4}>
          <Menu.Popup className={style['menu']}>
            {shown.map((action, i) =>
              action === 'divider' ? (
                i > 0 && i < shown.length - 1 && <Menu.Separator key={i} className={style['divider']} />
              ) : (
                <Menu.Item
                  key={action.label}
                  className={`${style['item']} ${action.isDanger ? style['danger'] : ''}`}
                  disabled={action.disabled ?? false}
                  onClick={action.onSelect}
                >
                  <action.icon size={15} aria-hidden />
                  {action.label}
                </Menu.Item>
              ),
            )}
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  )
}
