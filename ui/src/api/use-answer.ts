import { keepPreviousData, useQuery, type UseQueryResult } from '@tanstack/react-query'
import type { AdminReply, AdminRouteName } from '../../../src/api/admin/routes.ts'
import { useNewestEvent } from '../live/use-live.ts'
import { call, type ApiError, type Given } from './call.ts'

interface Asking {
  /** Ask again whenever something has happened in the cluster. */
  follows?: boolean
  enabled?: boolean
}

/** What a call that changes nothing answers. While it is asked again the answer before stays on the screen. */
export function useAnswer<N extends AdminRouteName>(
  name: N,
  given: Omit<Given<N>, 'signal'> = {},
  { follows = false, enabled = true }: Asking = {},
): UseQueryResult<AdminReply<N>, ApiError> {
  const newest = useNewestEvent()
  return useQuery<AdminReply<N>, ApiError>({
    queryKey: [name, given, follows ? newest : 0],
    queryFn: ({ signal }) => call(name, { ...given, signal }),
    placeholderData: keepPreviousData,
    enabled,
  })
}
