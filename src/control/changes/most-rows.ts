import { AppError } from '../../platform/errors.ts'
import type { Sql } from '../../store/sql.ts'
import { countOthers } from '../../store/nouns/row-count.ts'

/** Every gateway holds all models, and every turn looks at all rules: beyond this many both get slow. docs/guide/scale.md names it. */
const MOST = { models: 10_000, rules: 10_000 }

/** Refuses a model or rule above the limit; existing ones can still be changed. */
export async function needRoom(tx: Sql, what: 'models' | 'rules', name: string): Promise<void> {
  const { others, isThere } = await countOthers(tx, what, name)
  if (isThere || others < MOST[what]) return
  const text = `There are ${others} ${what}, and a cluster has at most ${MOST[what]}. Remove some before you add "${name}".`
  throw new AppError('conflict', text)
}
