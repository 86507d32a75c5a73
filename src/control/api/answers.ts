import type { AdminBody, AdminReply, AdminRouteName } from '../../api/admin/routes.ts'
import type { Caller } from './authorize.ts'

/** What one route does. Streams are not answered: they are written. */
export type Answer<N extends AdminRouteName> = (
  body: AdminBody<N>,
  params: Params,
  caller: Caller,
) => Promise<AdminReply<N>>

/** The `:name` parts of the path. Which there are is said by the route. */
export type Params = Readonly<Record<'id' | 'key' | 'name', string>>

export type Answers<N extends AdminRouteName> = { [K in N]: Answer<K> }
