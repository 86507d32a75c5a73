import { keepPreviousData, useQuery, type UseQueryResult } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import type { PlanView } from '../../../src/api/admin/plan-schemas.ts'
import { call, type ApiError, type BodyOf } from '../api/call.ts'
import { useNewestEvent } from '../live/use-live.ts'

type Document = BodyOf<'plan'>['document']

/** Somebody who types is let finish. */
const SETTLED_MS = 300
/** A plan looks at the whole cluster: it is not made again for every event of a busy one. */
const LEAST_GAP_MS = 3000

/** What would follow from a document; undefined asks for nothing. Nothing that it does not list is changed. */
export function usePlan(document: Document | undefined): UseQueryResult<PlanView, ApiError> {
  const text = useSettled(document === undefined ? '' : JSON.stringify(document), SETTLED_MS)
  const newest = useSlowly(useNewestEvent(), LEAST_GAP_MS)
  return useQuery<PlanView, ApiError>({
    queryKey: ['plan', text, newest],
    queryFn: ({ signal }) => call('plan', { body: { document: JSON.parse(text) as Document }, signal }),
    placeholderData: keepPreviousData,
    enabled: text !== '',
  })
}

/** A value after it has stayed the same for so long. */
export function useSettled<T>(value: T, ms: number): T {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms)
    return () => clearTimeout(timer)
  }, [value, ms])
  return settled
}

/** A value that is passed on at most so often; the last one always is. */
function useSlowly<T>(value: T, ms: number): T {
  const [passed, setPassed] = useState(value)
  const passedAt = useRef(0)
  useEffect(() => {
    const pass = (): void => {
      passedAt.current = Date.now()
      setPassed(value)
    }
    const timer = setTimeout(pass, Math.max(0, passedAt.current + ms - Date.now()))
    return () => clearTimeout(timer)
  }, [value, ms])
  return passed
}
