import { serve } from '../../test/support/http/http.ts'
import { httpLimitsSuite } from './http-limits-suite.ts'

httpLimitsSuite((handler, limits) => serve(handler, { limits }))
