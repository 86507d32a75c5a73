import { z } from 'zod'
import { needSources } from '../core/types.ts'

export const needSource = z.enum(needSources)
