import { toHeaderMessage } from '../../../../api/header-message.ts'
import { AppError } from '../../../../platform/errors.ts'
import { loadWorld } from '../../../../store/world/world.ts'
import { readFacts } from '../../../facts/read-facts.ts'
import type { Answers } from '../../answers.ts'
import type { AdminDeps } from '../../deps.ts'

/** A person waits for the answer, and can do without it. */
const READ_WITHIN_MS = 20_000

export function modelInspectAnswers(deps: AdminDeps): Answers<'inspectModel'> {
  return {
    async inspectModel(asked) {
      const signal = AbortSignal.any([AbortSignal.timeout(READ_WITHIN_MS), deps.ending])
      const { nodes } = await loadWorld(deps.db)
      try {
        const { payloadBytes, header } = await readFacts(asked, nodes, { ...deps, random: Math.random }, signal)
        return { payload_bytes: payloadBytes, header: header && toHeaderMessage(header) }
      } catch (error) {
        if (!signal.aborted) throw error
        const text = `Its files could not be read within ${READ_WITHIN_MS / 1000} s.`
        throw new AppError('unavailable', text, { cause: error, retryAfterS: 5 })
      }
    },
  }
}
