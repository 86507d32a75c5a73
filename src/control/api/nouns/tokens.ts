import { randomUUID } from 'node:crypto'
import type { TokenCreated, TokenView } from '../../../api/admin/schemas.ts'
import { AppError } from '../../../platform/errors.ts'
import { newSecret } from '../../../platform/secrets.ts'
import type { Database, Sql } from '../../../store/sql.ts'
import { appendEvent } from '../../../store/nouns/events.ts'
import { findToken, insertToken, listTokens, makeRoomForToken, revokeToken } from '../../../store/nouns/join-tokens.ts'
import { change } from '../../changes/change.ts'
import type { Answers } from '../answers.ts'
import type { AdminDeps } from '../deps.ts'

/** Tokens that ended are kept, so that a worker started with one is told why it may not join; up to here. */
const MOST_TOKENS = 10_000

const DEFAULT_NAME = 'default'

/** At start: the token in the data folder works. One that was revoked stays revoked. */
export async function ensureDefaultToken(db: Database, token: string): Promise<void> {
  if (await findToken(db, token)) return
  await db.transaction(async (tx) => {
    const row = await insertToken(tx, { id: randomUUID(), name: DEFAULT_NAME, token })
    if (!row) return
    const reason = 'the join token of a frontend'
    await appendEvent(tx, { actor: 'control', action: 'token.created', reason, data: { token_id: row.id } })
  })
}

export function tokenAnswers(deps: AdminDeps): Answers<'listTokens' | 'createToken' | 'rotateToken' | 'revokeToken'> {
  const insert = async (tx: Sql, token: Parameters<typeof insertToken>[1]): Promise<TokenView> => {
    if (!(await makeRoomForToken(tx, MOST_TOKENS))) {
      throw new AppError('conflict', `There are ${MOST_TOKENS} join tokens that still work. Revoke some first.`)
    }
    return (await insertToken(tx, token))!
  }

  const fingerprint = (): string | null => deps.fingerprint?.() ?? null

  /** The file comes first: a token in it that the store does not know is inserted at the next start. */
  const rotate = async (): Promise<TokenCreated> => {
    const old = deps.defaultToken()
    const token = newSecret('flj')
    await deps.replaceDefaultToken(token)
    try {
      const row = await change(deps, async (tx, tell) => {
        const before = await findToken(tx, old)
        if (before) await revokeToken(tx, before.id)
        const made = await insert(tx, { id: randomUUID(), name: DEFAULT_NAME, token })
        const data = { token_id: made.id, revoked_id: before?.id ?? null }
        const reason = 'the default join token was replaced; the old one no longer works'
        await tell({ action: 'token.rotated', reason, data })
        return made
      })
      return { ...row, token, fingerprint: fingerprint() }
    } catch (error) {
      await deps.replaceDefaultToken(old)
      throw error
    }
  }
  let rotating: Promise<void> = Promise.resolve()

  return {
    listTokens: () => listTokens(deps.db),

    async createToken({ name, expires_in_s: expiresInS, max_uses: maxUses }) {
      const token = newSecret('flj')
      const expiresInMs = expiresInS === undefined ? undefined : expiresInS * 1000
      const row = await change(deps, async (tx, tell) => {
        const made = await insert(tx, { id: randomUUID(), name, token, expiresInMs, maxUses })
        const reason = `the join token "${name}" was made`
        await tell({ action: 'token.created', reason, data: { token_id: made.id } })
        return made
      })
      return { ...row, token, fingerprint: fingerprint() }
    },

    rotateToken() {
      // One at a time, or a second would not find the token of the first to revoke it.
      const done = rotating.then(() => rotate())
      rotating = done.then(
        () => {},
        () => {},
      )
      return done
    },

    revokeToken: (_body, { id }) =>
      change(deps, async (tx, tell) => {
        const revoked = await revokeToken(tx, id)
        if (!revoked) throw new AppError('not_found', `There is no join token "${id}".`)
        const { token, changed } = revoked
        const reason = `the join token "${token.name}" no longer works`
        if (changed) await tell({ action: 'token.revoked', reason, data: { token_id: id } })
        return token
      }),
  }
}
