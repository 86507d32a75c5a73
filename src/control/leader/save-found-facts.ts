import { checkLease, type HeldLease } from '../../store/nouns/leases.ts'
import { saveFacts, type StoredFacts } from '../../store/nouns/model-facts.ts'
import type { Database, Sql } from '../../store/sql.ts'
import type { OwnWrites } from '../turn/own-changes.ts'

/** Writes what the files of a model say, under the leader's lease. */
export async function saveFoundFacts(
  db: Database,
  own: OwnWrites,
  lease: HeldLease | undefined,
  facts: StoredFacts,
): Promise<void> {
  if (!lease) return
  const write = async (tx: Sql): Promise<void> => {
    await checkLease(tx, lease)
    await saveFacts(tx, facts)
  }
  await own.during({ modelNames: [facts.modelName] }, () => db.transaction(write))
}
