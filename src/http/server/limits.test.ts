import { serve } from '../../../test/support/http/http.ts'
import { httpLimitsSuite } from './limits-suite.ts'

httpLimitsSuite((handler, limits) => serve(handler, { limits }))
