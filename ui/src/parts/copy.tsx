import { Check, Copy } from 'lucide-react'
import { useEffect, useState, type ReactNode } from 'react'
import { IconButton } from './button.tsx'
import style from './copy.module.css'
import { tell } from './toasts.tsx'

const SHOWN_MS = 1500

export function CopyButton({ text, label = 'Copy' }: { text: string; label?: string }): ReactNode {
  const [isDone, setDone] = useState(false)
  useEffect(() => {
    if (!isDone) return
    const timer = setTimeout(() => setDone(false), SHOWN_MS)
    return () => clearTimeout(timer)
  }, [isDone])
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text)
      setDone(true)
    } catch {
      // Browsers lend the clipboard to secure pages only.
      tell.failed('This browser does not let the page copy. Select the text and copy it by hand.')
    }
  }
  return <IconButton icon={isDone ? Check : Copy} label={isDone ? 'Copied' : label} onClick={() => void copy()} />
}

/** Text to be pasted into a terminal, or a secret to be kept. */
export function CopyBlock({ text, label }: { text: string; label: string }): ReactNode {
  return (
    <div className={style['block']}>
      <pre aria-label={label} tabIndex={0}>
        <code>{text}</code>
      </pre>
      <CopyButton text={text} label={`Copy ${label.toLowerCase()}`} />
    </div>
  )
}
