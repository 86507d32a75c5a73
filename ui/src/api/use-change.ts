import { useMutation, type UseMutationResult } from '@tanstack/react-query'
import type { AdminReply, AdminRouteName } from '../../../src/api/admin/routes.ts'
import { tell } from '../parts/toasts.tsx'
import { call, type ApiError, type Given } from './call.ts'

interface Telling<N extends AdminRouteName> {
  /** What is told when it has worked. */
  done: string | ((reply: AdminReply<N>, given: Given<N>) => string)
  onDone?: (reply: AdminReply<N>) => void
  /** Refusals are told in a toast, unless the caller shows them itself. */
  isQuiet?: (error: ApiError) => boolean
  /** What is told as done although it was refused: it has happened by itself in the meantime. */
  doneAnyway?: (error: ApiError) => string | undefined
}

/** A call that changes something. How it went is always told; the live stream shows what follows from it. */
export function useChange<N extends AdminRouteName>(
  name: N,
  { done, onDone, isQuiet = () => false, doneAnyway = () => undefined }: Telling<N>,
): UseMutationResult<AdminReply<N>, ApiError, Given<N>> {
  return useMutation<AdminReply<N>, ApiError, Given<N>>({
    mutationFn: (given) => call(name, given),
    onSuccess: (reply, given) => {
      tell.done(typeof done === 'string' ? done : done(reply, given))
      onDone?.(reply)
    },
    onError: (error) => {
      const happened = doneAnyway(error)
      if (happened !== undefined) tell.done(happened)
      else if (!isQuiet(error)) tell.failed(error.message)
    },
  })
}
