import { AlertDialog } from '@base-ui/react/alert-dialog'
import { TriangleAlert } from 'lucide-react'
import { createContext, useCallback, useContext, useMemo, useRef, useState, type ReactNode } from 'react'
import { Button } from './button.tsx'
import style from './dialog.module.css'

export interface Question {
  title: string
  text: ReactNode
  /** What the button does, as a verb. */
  confirm: string
  /** It takes something away. */
  isDanger?: boolean
}

type Ask = (question: Question) => Promise<boolean>

const ConfirmContext = createContext<Ask>(() => Promise.resolve(false))

/** Asks before something is done that cannot be undone: `if (await confirm({ … })) …`. */
export const useConfirm = (): Ask => useContext(ConfirmContext)

export function ConfirmProvider({ children }: { children: ReactNode }): ReactNode {
  const [asked, setAsked] = useState<Question & { answer: (isYes: boolean) => void }>()
  // The question stays on the screen while the dialog goes, so being open is a fact of its own.
  const [isOpen, setOpen] = useState(false)
  const confirmButton = useRef<HTMLButtonElement>(null)
  const ask = useCallback<Ask>(
    (question) =>
      new Promise((answer) => {
        setAsked({ ...question, answer })
        setOpen(true)
      }),
    [],
  )
  const answer = (isYes: boolean): void => {
    setOpen(false)
    asked?.answer(isYes)
  }
  return (
    <ConfirmContext value={useMemo(() => ask, [ask])}>
      {children}
      <AlertDialog.Root open={isOpen} onOpenChange={(open) => !open && answer(false)}>
        <AlertDialog.Portal>
          <AlertDialog.Backdrop className={style['backdrop']} onClick={() => answer(false)} />
          <AlertDialog.Popup className={style['popup']} initialFocus={confirmButton}>
            <AlertDialog.Title className={style['title']}>
              {asked?.isDanger && <TriangleAlert size={18} className={style['danger']} aria-hidden />}
              {asked?.title}
            </AlertDialog.Title>
            <AlertDialog.Description className={style['description']} render={<div />}>
              {asked?.text}
            </AlertDialog.Description>
            <footer className={style['actions']}>
              <Button onClick={() => answer(false)}>Cancel</Button>
              <Button ref={confirmButton} tone={asked?.isDanger ? 'danger' : 'primary'} onClick={() => answer(true)}>
                {asked?.confirm}
              </Button>
            </footer>
          </AlertDialog.Popup>
        </AlertDialog.Portal>
      </AlertDialog.Root>
    </ConfirmContext>
  )
}
