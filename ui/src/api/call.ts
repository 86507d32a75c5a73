import type { z } from 'zod'
import { routeTable } from 'virtual:route-table'
import type { AdminReply, AdminRouteName, AdminRoutes } from '../../../src/api/admin/routes.ts'
import { DASHBOARD_HEADER } from '../../../src/api/admin/session-names.ts'

export type BodyOf<N extends AdminRouteName> = AdminRoutes[N] extends { body: infer B extends z.ZodType }
  ? z.input<B>
  : undefined

export interface Given<N extends AdminRouteName> {
  /** The `:name` parts of the path. */
  params?: Readonly<Record<string, string>>
  query?: Readonly<Record<string, string | number | undefined>>
  body?: BodyOf<N>
  signal?: AbortSignal
}

/** What a frontend refused, in its own words. */
export class ApiError extends Error {
  readonly status: number
  readonly code: string
  /** The error object of the answer, with all its fields. */
  readonly details: Readonly<Record<string, unknown>>

  constructor(status: number, details: Readonly<Record<string, unknown>>) {
    super(typeof details['message'] === 'string' ? details['message'] : `The frontend answered ${status}.`)
    this.name = 'ApiError'
    this.status = status
    this.code = typeof details['code'] === 'string' ? details['code'] : ''
    this.details = details
  }
}

/** Told when a call was refused because nobody is signed in (any more). */
let onSignedOut = (): void => {}
export function whenSignedOut(told: () => void): void {
  onSignedOut = told
}

/** One call of the admin API, by the name it has in the table of routes. */
export async function call<N extends AdminRouteName>(name: N, given: Given<N> = {}): Promise<AdminReply<N>> {
  const { method } = routeTable[name]!
  const response = await fetch(urlOf(name, given), {
    method,
    headers: {
      [DASHBOARD_HEADER]: '1',
      ...(given.body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(given.body === undefined ? {} : { body: JSON.stringify(given.body) }),
    ...(given.signal ? { signal: given.signal } : {}),
  }).catch((error: unknown) => {
    if (given.signal?.aborted) throw error
    throw new ApiError(0, { message: 'Flotilla does not answer. Is it running, and is the network there?' })
  })
  const json: unknown = await response.json().catch(() => undefined)
  if (response.ok) return json as AdminReply<N>
  if (response.status === 401 && name !== 'signIn') onSignedOut()
  const error = (json as { error?: Record<string, unknown> } | undefined)?.error ?? {}
  throw new ApiError(response.status, error)
}

/** Where a call goes; also for streams, which are followed with EventSource. */
export function urlOf<N extends AdminRouteName>(name: N, { params = {}, query = {} }: Given<N> = {}): string {
  const path = routeTable[name]!.path.replace(/:(\w+)/g, (_, part: string) => encodeURIComponent(params[part] ?? ''))
  const pairs = Object.entries(query).flatMap(([key, value]) => (value === undefined ? [] : [[key, String(value)]]))
  return pairs.length === 0 ? path : `${path}?${new URLSearchParams(pairs)}`
}
