import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AdminBody, AdminReply, AdminRouteName, AdminStreamName } from '../../api/admin/routes.ts'
import type { Caller } from './access/authorize.ts'

/** What one route does. */
export type Answer<N extends AdminRouteName> = (
  body: AdminBody<N>,
  params: Params,
  caller: Caller,
) => Promise<AdminReply<N>>

/** The `:name` parts of the path. Which there are is said by the route. */
export type Params = Readonly<Record<'id' | 'key' | 'name' | 'path', string>>

/**
 * Checks the head of a call before its body is read, for routes that need no key. Throws to refuse the call; the returned
 * function is called with the outcome.
 */
export type Gate = (request: IncomingMessage) => { ended(error?: unknown): void }

export type Answers<N extends AdminRouteName> = { [K in N]: Answer<K> }

/** What one streaming route does. Resolves when the stream has begun, or when it has ended. */
export type Stream = (request: IncomingMessage, response: ServerResponse, params: Params) => Promise<void>

export type Streams<N extends AdminStreamName> = { [K in N]: Stream }
