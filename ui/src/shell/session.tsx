import { useQueryClient } from '@tanstack/react-query'
import { createContext, useContext, useEffect, useMemo, useState, type ReactNode } from 'react'
import { useLocation } from 'wouter'
import type { SessionView } from '../../../src/api/admin/session-schemas.ts'
import { call, whenSignedOut } from '../api/call.ts'
import { liveConnection } from '../live/connection.ts'
import { useConnectionState } from '../live/use-live.ts'
import { Failure } from '../parts/notice.tsx'
import { Spinner } from '../parts/spinner.tsx'

interface Session {
  isSignedIn: boolean
  /** False for somebody who may only look. */
  mayChange: boolean
  actor: string | null
  version: string
  signIn: (given: { key: string } | { code: string }) => Promise<void>
  signOut: () => Promise<void>
}

/** Pages of one browser share a session: what one of them does to it the others look at again. */
const CHANGED_AT = 'flotilla-session-changed-at'
const tellSiblings = (): void => localStorage.setItem(CHANGED_AT, String(Date.now()))

const SessionContext = createContext<Session | undefined>(undefined)

export function useSession(): Session {
  const session = useContext(SessionContext)
  if (!session) throw new Error('useSession is used outside of SessionProvider')
  return session
}

/** Knows who is signed in, and follows the cluster as long as somebody is. */
export function SessionProvider({ children }: { children: ReactNode }): ReactNode {
  const [view, setView] = useState<SessionView>()
  const [failure, setFailure] = useState<Error>()
  const [tries, setTries] = useState(0)
  const [, navigate] = useLocation()
  const queryClient = useQueryClient()
  const connection = useConnectionState()
  const isSignedIn = view?.signed_in ?? false

  useEffect(() => {
    call('showSession').then(setView, setFailure)
  }, [tries])
  useEffect(() => {
    const onStorage = ({ key }: StorageEvent): void => {
      if (key === CHANGED_AT) setTries((count) => count + 1)
    }
    addEventListener('storage', onStorage)
    return () => removeEventListener('storage', onStorage)
  }, [])
  useEffect(() => whenSignedOut(() => setView((old) => old && { ...old, signed_in: false })), [])
  useEffect(() => {
    if (!isSignedIn) return
    return liveConnection.start()
  }, [isSignedIn])
  useEffect(() => {
    if (connection === 'signed out') setView((old) => old && { ...old, signed_in: false })
  }, [connection])

  const session = useMemo<Session | undefined>(
    () =>
      view && {
        isSignedIn: view.signed_in,
        mayChange: view.may_change,
        actor: view.actor,
        version: view.version,
        signIn: async (given) => {
          setView(await call('signIn', { body: given }))
          tellSiblings()
        },
        signOut: async () => {
          await call('signOut')
          tellSiblings()
          queryClient.clear()
          setView({ ...view, signed_in: false, actor: null })
          navigate('/')
        },
      },
    [view, queryClient, navigate],
  )
  if (session) return <SessionContext value={session}>{children}</SessionContext>
  if (!failure) return <Spinner label="Looking for Flotilla…" />
  const retry = (): void => {
    setFailure(undefined)
    setTries(tries + 1)
  }
  return <Failure error={failure} onRetry={retry} />
}
