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
 * Looks at the head of a call before its body is read, for routes that may be called without a key. Throws when the call is
 * not taken; what it returns is told how the call ended.
 */
export type Gate = (request: IncomingMessage) => { ended(error?: unknown): void }

export type Answers<N extends AdminRouteName> = { [K in N]: Answer<K> }

/** What one route does that is written as it comes. Resolves when it has begun, or when it has ended. */
export type Stream = (request: IncomingMessage, response: ServerResponse, params: Params) => Promise<void>

export type Streams<N extends AdminStreamName> = { [K in N]: Stream }
