import { newSecret } from '../../../platform/secrets.ts'
import { endAdminSessions } from '../../../store/nouns/sessions.ts'
import { change } from '../../changes/change.ts'
import type { Answers } from '../answers.ts'
import type { AdminDeps } from '../deps.ts'

export function adminKeyAnswers(deps: AdminDeps): Answers<'rotateAdminKey'> {
  /** The file comes first: after a crash in between, its owner can read the key, and at worst old sessions go on. */
  const rotate = async (): Promise<{ key: string; ended_sessions: number }> => {
    const old = deps.adminKey()
    const key = newSecret('fla')
    await deps.replaceAdminKey(key)
    try {
      const ended = await change(deps, async (tx, tell) => {
        const count = await endAdminSessions(tx)
        const reason = `the admin key of a frontend was replaced; the old one no longer works, and ${count} sessions have ended`
        await tell({ action: 'admin_key.rotated', reason, data: { ended_sessions: count } })
        return count
      })
      return { key, ended_sessions: ended }
    } catch (error) {
      await deps.replaceAdminKey(old)
      throw error
    }
  }
  let rotating: Promise<unknown> = Promise.resolve()
  return {
    rotateAdminKey() {
      // One at a time: the second would put back the key of the first if it failed.
      const done = rotating.then(rotate)
      rotating = done.catch(() => {})
      return done
    },
  }
}
