import { AppError } from '../../platform/errors.ts'
import type { Database, Sql } from '../sql.ts'

/**
 * A lease lets one owner act alone until a time by the store's clock. Every change of owner makes a new epoch, and an
 * epoch has one owner for ever. The owner takes its epoch into each transaction (`checkLease`), so that one that slept
 * through the end of its lease cannot write after its successor has begun.
 */
export interface LeaseClaim {
  name: string
  owner: string
  ttlMs: number
}

export interface HeldLease {
  name: string
  owner: string
  epoch: number
  /** The cluster of the store it was taken in: in the store of another cluster it protects nothing. */
  cluster?: string | undefined
}

/** Of one that another holds: how long still, unless it is renewed. */
export type LeaseAnswer = { epoch: number } | { heldBy: string; leftMs: number }

interface LeaseRow {
  owner: string
  epoch: number
  expires_at: number
  now: number
}

/** The owner of a released lease. The row stays, so that epochs never start again. */
const NOBODY = ''

/** Takes a lease that is free or has run out, or renews one's own. */
export function acquireLease(db: Database, { name, owner, ttlMs }: LeaseClaim): Promise<LeaseAnswer> {
  return db.transaction(async (tx) => {
    const [lease] = await tx.query<LeaseRow>(
      'select owner, epoch, expires_at, now_ms() as now from leases where name = $1',
      [name],
    )
    if (lease && lease.owner !== owner && lease.expires_at > lease.now) {
      return { heldBy: lease.owner, leftMs: lease.expires_at - lease.now }
    }
    // Its own lease keeps its epoch even after it ran out: no other owner has acted in between.
    const epoch = lease?.owner === owner ? lease.epoch : (lease?.epoch ?? 0) + 1
    await tx.query(
      `insert into leases (name, owner, epoch, expires_at) values ($1, $2, $3, now_ms() + $4)
       on conflict (name) do update set owner = excluded.owner, epoch = excluded.epoch, expires_at = excluded.expires_at`,
      [name, owner, epoch, ttlMs],
    )
    return { epoch }
  })
}

/** Gives the lease back at once, so that the next owner need not wait. Does nothing when it is no longer held. */
export async function releaseLease(db: Database, { name, owner, epoch }: HeldLease): Promise<void> {
  await db.transaction((tx) =>
    tx.query('update leases set owner = $1, expires_at = 0 where name = $2 and owner = $3 and epoch = $4', [
      NOBODY,
      name,
      owner,
      epoch,
    ]),
  )
}

/** Thrown inside a transaction, so that everything else in it is undone. */
export class LeaseLostError extends AppError {
  constructor({ name, owner, epoch }: HeldLease) {
    super('conflict', `${owner} no longer holds the lease "${name}" (epoch ${epoch}): its change was refused.`)
    this.name = 'LeaseLostError'
  }
}

const IS_OF_CLUSTER = `select 1 from cluster_facts where name = 'cluster_id' and value = $4`

/**
 * To be called in the transaction that acts: throws LeaseLostError when the lease has another owner or none now. Only owner
 * and epoch count. A lease that ran out and was not taken still protects its owner: others may take it from then on, and
 * until one does, none of them can have acted.
 */
export async function checkLease(tx: Sql, held: HeldLease): Promise<void> {
  const { name, owner, epoch, cluster } = held
  const text = 'select 1 as held from leases where name = $1 and owner = $2 and epoch = $3'
  const rows =
    cluster === undefined
      ? await tx.query(text, [name, owner, epoch])
      : await tx.query(`${text} and exists (${IS_OF_CLUSTER})`, [name, owner, epoch, cluster])
  if (rows.length === 0) throw new LeaseLostError(held)
}
