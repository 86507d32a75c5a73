import { randomUUID } from 'node:crypto'
import { AppError } from '../../../platform/errors.ts'
import { hashSecret, newSecret } from '../../../platform/secrets.ts'
import {
  insertKey,
  listedCharacters,
  listKeys,
  makeRoomForKey,
  revokeKey,
  shortenKey,
  type NewKey,
} from '../../../store/nouns/api-keys.ts'
import type { Sql } from '../../../store/sql.ts'
import { change } from '../../changes/change.ts'
import type { Answers } from '../answers.ts'
import type { AdminDeps } from '../deps.ts'

/** Keys that ended are kept, so that the list tells what became of them; up to here. */
const MOST_KEYS = 10_000

/** Every gateway holds all keys that work: the names of models in them have this many characters at most, all together. */
const MOST_LISTED_CHARACTERS = 4_000_000

export function keyAnswers(deps: AdminDeps): Answers<'listKeys' | 'createKey' | 'rotateKey' | 'revokeKey'> {
  return {
    listKeys: () => listKeys(deps.db),

    async createKey({ name, scopes, models, expires_in_s: expiresInS }) {
      if (models && !scopes.every((scope) => scope === 'inference')) {
        const text = 'models: only a key for inference alone takes a list of models'
        throw new AppError('bad_request', text, { details: { param: 'models' } })
      }
      const key = newSecret('fk')
      const made = {
        id: randomUUID(),
        name,
        keyHash: hashSecret(key),
        scopes: [...new Set(scopes)],
        models: models ? [...new Set(models)] : null,
        expiresInMs: expiresInS === undefined ? undefined : expiresInS * 1000,
      }
      const row = await change(deps, async (tx, tell) => {
        const inserted = await insertIfRoom(tx, made)
        const reason = `the API key "${name}" was made`
        const data = { key_id: made.id, scopes: made.scopes, models: made.models }
        await tell({ action: 'key.created', reason, data })
        return inserted
      })
      return { ...row, key }
    },

    async rotateKey({ overlap_s: overlapS }, { id }) {
      const key = newSecret('fk')
      const row = await change(deps, async (tx, tell) => {
        const keys = await listKeys(tx)
        const old = keys.find((one) => one.id === id)
        if (!old) throw new AppError('not_found', `There is no API key "${id}".`)
        const { name, scopes, models, state } = old
        if (state !== 'active') throw new AppError('conflict', `The API key "${name}" no longer works: make a new one.`)
        // What it was given for is given again, for as long as it was given.
        const expiresInMs = old.expires_at === null ? undefined : old.expires_at - old.created_at
        const made = { id: randomUUID(), name, keyHash: hashSecret(key), scopes, models, expiresInMs }
        const inserted = await insertIfRoom(tx, made)
        await shortenKey(tx, id, overlapS * 1000)
        const reason = `the API key "${name}" was replaced; the old one works for another ${overlapS} s at most`
        await tell({ action: 'key.rotated', reason, data: { key_id: made.id, replaced_id: id, overlap_s: overlapS } })
        return inserted
      })
      return { ...row, key }
    },

    revokeKey: (_body, { id }) =>
      change(deps, async (tx, tell) => {
        const revoked = await revokeKey(tx, id)
        if (!revoked) throw new AppError('not_found', `There is no API key "${id}".`)
        const { key, changed } = revoked
        const reason = `the API key "${key.name}" no longer works`
        if (changed) await tell({ action: 'key.revoked', reason, data: { key_id: id } })
        return key
      }),
  }
}

async function insertIfRoom(tx: Sql, key: NewKey): ReturnType<typeof insertKey> {
  if (!(await makeRoomForKey(tx, MOST_KEYS))) {
    const text = `There are ${MOST_KEYS} API keys that work, and a cluster has at most that many. Revoke some.`
    throw new AppError('conflict', text)
  }
  const row = await insertKey(tx, key)
  const listed = await listedCharacters(tx)
  if (key.models === null || listed <= MOST_LISTED_CHARACTERS) return row
  const text = `The API keys that work list models in ${listed} characters, and at most ${MOST_LISTED_CHARACTERS} are held by gateways. Revoke some, or give them shorter lists.`
  throw new AppError('conflict', text)
}
