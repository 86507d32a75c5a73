import { Dialog as Base } from '@base-ui/react/dialog'
import { X } from 'lucide-react'
import type { ReactNode } from 'react'
import style from './dialog.module.css'
import { IconButton } from './button.tsx'

interface DialogProps {
  open: boolean
  onClose: () => void
  title: string
  /** One line under the title. */
  description?: ReactNode
  children: ReactNode
  /** At the foot, from left to right. */
  actions?: ReactNode
  wide?: boolean
}

export function Dialog({ open, onClose, title, description, children, actions, wide }: DialogProps): ReactNode {
  return (
    <Base.Root open={open} onOpenChange={(isOpen) => !isOpen && onClose()}>
      <Base.Portal>
        <Base.Backdrop className={style['backdrop']} />
        <Base.Popup className={`${style['popup']} ${wide ? style['wide'] : ''}`}>
          <header className={style['head']}>
            <Base.Title className={style['title']}>{title}</Base.Title>
            <IconButton icon={X} label="Close" onClick={onClose} />
          </header>
          {description !== undefined && (
            <Base.Description className={style['description']}>{description}</Base.Description>
          )}
          <div className={style['body']}>{children}</div>
          {actions !== undefined && <footer className={style['actions']}>{actions}</footer>}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  )
}
