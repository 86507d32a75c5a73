import { Anchor } from 'lucide-react'
import { useEffect, useRef, useState, type FormEvent, type ReactNode } from 'react'
import { Link, useLocation } from 'wouter'
import { Button } from '../../parts/button.tsx'
import { TextField } from '../../parts/field.tsx'
import { Spinner } from '../../parts/spinner.tsx'
import { useSession } from '../../shell/session.tsx'
import style from './sign-in-page.module.css'

/** With the admin key, or by a link whose code follows the # and is good once. */
export function SignInPage(): ReactNode {
  const { signIn, isSignedIn } = useSession()
  const [path, navigate] = useLocation()
  const [key, setKey] = useState('')
  const [problem, setProblem] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const codeUsed = useRef(false)
  const [code] = useState(() => location.hash.slice(1))

  const enter = async (given: { key: string } | { code: string }): Promise<void> => {
    setBusy(true)
    setProblem(undefined)
    try {
      await signIn(given)
      if (path === '/sign-in') navigate('/', { replace: true })
    } catch (error) {
      setProblem((error as Error).message)
      setBusy(false)
    }
  }
  useEffect(() => {
    document.title = 'Sign in · Flotilla'
    if (codeUsed.current || code === '') return
    // Effects may run twice, and the code is good for once. It is of no use in the history either.
    codeUsed.current = true
    history.replaceState(null, '', location.pathname)
    void enter({ code })
  })
  useEffect(() => {
    if (isSignedIn && path === '/sign-in' && code === '') navigate('/', { replace: true })
  }, [isSignedIn, path, code, navigate])

  const submit = (event: FormEvent): void => {
    event.preventDefault()
    void enter({ key: key.trim() })
  }
  if (isBusy && key === '') return <Spinner label="Signing in…" />
  return (
    <main className={style['page']}>
      <form className={style['card']} onSubmit={submit}>
        <h1>
          <Anchor size={26} aria-hidden /> Flotilla
        </h1>
        <TextField
          label="Admin key"
          type="password"
          value={key}
          onChange={setKey}
          error={problem}
          hint="The admin key of this frontend, or an API key with the scope admin."
          autoFocus
        />
        <Button tone="primary" type="submit" busy={isBusy} disabled={key.trim() === ''}>
          Sign in
        </Button>
        <div className={style['help']}>
          <p>
            On the machine of the frontend, <code>flotilla dashboard</code> prints a link that signs you in. The key
            itself is in the file <code>admin.key</code> of its data folder.
          </p>
          <p>
            Only want to ask a model something? <Link href="/playground">Open the playground</Link>.
          </p>
        </div>
      </form>
    </main>
  )
}
