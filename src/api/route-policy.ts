import { z } from 'zod'
import { routePolicies } from '../core/types.ts'

/**
 * How a request finds its replica: the least loaded one, each in turn, or the same one for the same session (the header
 * `X-Session-Id`, else the field `user`) as long as that one is not overloaded.
 */
export const routePolicy = z.enum(routePolicies)
