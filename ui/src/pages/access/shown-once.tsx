import type { ReactNode } from 'react'
import { Button } from '../../parts/button.tsx'
import { CopyBlock } from '../../parts/copy.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Notice } from '../../parts/notice.tsx'
import style from './access.module.css'

/** A secret that was just made, to be copied now or never. */
export function ShownOnce({
  title,
  label,
  text,
  onClose,
}: {
  title: string
  label: string
  text: string
  onClose: () => void
}): ReactNode {
  return (
    <Dialog open onClose={onClose} title={title} actions={<Button onClick={onClose}>Done</Button>}>
      <div className={style['once']}>
        <Notice tone="warn">Copy it now. Flotilla keeps only its hash and cannot show it again.</Notice>
        <CopyBlock text={text} label={label} />
      </div>
    </Dialog>
  )
}
