import { AppError } from '../../platform/errors.ts'
import { hashSecret } from '../../platform/secrets.ts'
import { findApplied } from './applied.ts'
import { CLUSTER_ID, CLUSTER_SECRET } from '../nouns/cluster-facts.ts'
import type { Driver } from '../driver/driver.ts'

/** The cluster that a data folder belongs to. */
export interface KnownCluster {
  id: string
  /** The sha256 of the secret that its store held: by it a store of the release before is known, which has no id. */
  secretHash?: string | undefined
  /** The data folder, for messages. */
  folder: string
}

/**
 * To be called before anything is migrated. A store that is empty, or of another cluster, under a data folder that belongs to
 * a cluster, is a lost volume, a fresh standby or a wrong address far more often than an intention.
 */
export async function refuseOtherStore(driver: Driver, known: KnownCluster): Promise<void> {
  const facts = await factsOf(driver)
  if (!facts) throw refusal(driver, known, 'is empty')
  const id = facts.get(CLUSTER_ID)
  if (id === known.id) return
  if (id !== undefined) throw refusal(driver, known, `is the database of the cluster ${id}`)
  const secret = facts.get(CLUSTER_SECRET)
  if (secret === undefined) throw refusal(driver, known, 'has tables of Flotilla and no cluster in them')
  if (known.secretHash === undefined || hashSecret(secret) === known.secretHash) return
  throw refusal(driver, known, 'is the database of another cluster, which has no id yet')
}

/** Nothing when there is no table of them. */
async function factsOf(driver: Driver): Promise<Map<string, string> | undefined> {
  const applied = await findApplied(driver)
  const found = await driver.read(driver.findTable, ['cluster_facts'])
  if (!applied || applied.length === 0 || found.length === 0) return undefined
  const rows = (await driver.read('select name, value from cluster_facts', [])) as { name: string; value: string }[]
  return new Map(rows.map(({ name, value }) => [name, value]))
}

function refusal({ kind, where }: Driver, { id, folder }: KnownCluster, what: string): AppError {
  const target = kind === 'sqlite' ? `--data ${folder}` : '--database-url <url>'
  const wrong = kind === 'sqlite' ? '' : ' If this is the wrong database, correct --database-url.'
  return new AppError(
    'usage',
    `The data folder ${folder} belongs to the cluster ${id}, and the database ${where} ${what}. Nothing was changed.` +
      ` If the database was lost, restore its backup: flotilla db import <backup> ${target}.${wrong}` +
      ' If this is meant to be another cluster, start once with --new-cluster: nodes and gateways of the old one do not follow by themselves.',
  )
}
