import { serve } from '../../../test/support/http/http.ts'
import { halfClosedSuite } from './half-closed-suite.ts'

halfClosedSuite(serve)
