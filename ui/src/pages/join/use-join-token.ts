import { useCallback, useEffect, useRef, useState } from 'react'
import type { TokenCreated } from '../../../../src/api/admin/schemas.ts'
import { call } from '../../api/call.ts'

const EXPIRES_IN_S = 3600

export interface JoinToken {
  created: TokenCreated | undefined
  error: Error | undefined
  /** Makes one; the one before is given up. */
  make: () => void
  /** It is of no use any more. One that a node has joined with is left alone. */
  giveUp: () => void
  /** Told when a node has joined with it. */
  wasUsed: () => void
  isUsed: boolean
}

/** A token for one node, that is revoked when nobody has used it by the time it is put away. */
export function useJoinToken(): JoinToken {
  const [created, setCreated] = useState<TokenCreated>()
  const [error, setError] = useState<Error>()
  const [isUsed, setUsed] = useState(false)
  // The attempt that counts: an answer that comes after the dialog was closed must be revoked too.
  const attempt = useRef<{ isGivenUp: boolean; unused?: string | undefined }>(undefined)

  const giveUp = useCallback((): void => {
    const last = attempt.current
    attempt.current = undefined
    setCreated(undefined)
    setError(undefined)
    setUsed(false)
    if (!last) return
    last.isGivenUp = true
    if (last.unused !== undefined) revoke(last.unused)
  }, [])

  const make = useCallback((): void => {
    giveUp()
    const mine: NonNullable<typeof attempt.current> = { isGivenUp: false }
    attempt.current = mine
    call('createToken', { body: { name: 'from the dashboard', max_uses: 1, expires_in_s: EXPIRES_IN_S } }).then(
      (token) => {
        if (mine.isGivenUp) return revoke(token.id)
        mine.unused = token.id
        setCreated(token)
      },
      (failure: Error) => !mine.isGivenUp && setError(failure),
    )
  }, [giveUp])

  const wasUsed = useCallback((): void => {
    if (attempt.current) attempt.current.unused = undefined
    setUsed(true)
  }, [])

  useEffect(() => giveUp, [giveUp])
  return { created, error, make, giveUp, wasUsed, isUsed }
}

/** Should this not arrive, the token still ends within the hour. */
function revoke(id: string): void {
  void call('revokeToken', { params: { id } }).catch(() => {})
}
