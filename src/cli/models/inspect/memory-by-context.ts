import { estimateMemory, type MemoryEstimate } from '../../../core/memory/estimate.ts'
import { memorySettings } from '../../../core/memory/settings.ts'
import type { ModelHeader } from '../../../core/types.ts'

export interface ContextMemory {
  context: number
  gpu: MemoryEstimate
  cpu: MemoryEstimate
}

/** Tokens that people ask for; those that the model was not trained for are left out, and its own length is added. */
const USUAL = [2048, 8192, 32_768, 131_072]

/** The default number of parallel requests. */
export const { parallel: USUAL_PARALLEL } = memorySettings({})

/** What one replica takes, for a few lengths of context; the same that is reserved for it. Nothing for what is no model. */
export function memoryByContext({ kind, header }: { kind: string; header: ModelHeader }): ContextMemory[] {
  if (kind !== 'model' || header.layers === 0 || header.context === 0) return []
  const contexts = [...USUAL.filter((tokens) => tokens < header.context), header.context]
  return contexts.map((context) => {
    const settings = memorySettings({ context })
    return { context, gpu: estimateMemory(header, settings, 1), cpu: estimateMemory(header, settings, 0) }
  })
}
