import type { Database } from './database.ts'

/** What the cluster has agreed on under this name: `proposal`, if nobody was quicker. */
export function agreeOn(db: Database, name: string, proposal: string): Promise<string> {
  return db.transaction(async (tx) => {
    await tx.query('insert into cluster_facts (name, value) values ($1, $2) on conflict (name) do nothing', [
      name,
      proposal,
    ])
    const [row] = await tx.query<{ value: string }>('select value from cluster_facts where name = $1', [name])
    return row!.value
  })
}
