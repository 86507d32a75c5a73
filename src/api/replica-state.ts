import { z } from 'zod'
import { replicaStates } from '../core/types.ts'

export const replicaState = z.enum(replicaStates)
