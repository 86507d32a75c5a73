import type { RoutedKeyMessage } from '../../api/bus/messages.ts'
import type { Clock } from '../../platform/run/clock.ts'
import { hashSecret } from '../../platform/secrets.ts'
import type { Database } from '../../store/sql.ts'
import { recordFrontend } from '../../store/nouns/frontends.ts'

/** How often a frontend renews its row; it may be away for days before its key is forgotten. */
const RECORDED_EVERY_MS = 3_600_000

/**
 * The admin keys in the data folders of all frontends, as gateways check them: whichever frontend leads, each of these
 * keys opens each gateway. `others` are hashes from the store; our own key counts from the moment it is in its file.
 */
export function adminKeyMessages(adminKey: string, others: readonly string[] = []): RoutedKeyMessage[] {
  const hashes = new Set([hashSecret(adminKey), ...others])
  return [...hashes].map((hash) => ({ id: 'admin', key_hash: hash, scopes: ['admin'], models: null, expires_at: null }))
}

export interface RecordedAdminKeyDeps {
  db: Database
  clock: Clock
  owner: string
  adminKey: () => string
}

/** Keeps the hash of this frontend's admin key in the store, for whichever frontend leads. */
export class RecordedAdminKey {
  readonly #deps: RecordedAdminKeyDeps
  #recorded: { key: string; atMs: number } | undefined

  constructor(deps: RecordedAdminKeyDeps) {
    this.#deps = deps
  }

  /** Writes it when it is new or was written long ago. True when the key in the store is another than before. */
  async record(): Promise<boolean> {
    const { db, clock, owner, adminKey } = this.#deps
    const key = adminKey()
    const atMs = clock.nowMs()
    const before = this.#recorded
    const isOther = before?.key !== key
    if (before && !isOther && Math.abs(atMs - before.atMs) < RECORDED_EVERY_MS) return false
    await db.transaction((tx) => recordFrontend(tx, owner, hashSecret(key)))
    this.#recorded = { key, atMs }
    return isOther
  }
}
