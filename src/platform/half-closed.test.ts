import { serve } from '../testing/http.ts'
import { halfClosedSuite } from './half-closed-suite.ts'

halfClosedSuite(serve)
