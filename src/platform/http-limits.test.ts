import { serve } from '../testing/http.ts'
import { httpLimitsSuite } from './http-limits-suite.ts'

httpLimitsSuite((handler, limits) => serve(handler, { limits }))
