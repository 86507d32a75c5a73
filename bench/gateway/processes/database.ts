import postgres, { type Sql } from 'postgres'
import { MODEL_NAME } from '../messages.ts'

/**
 * Routing by the database, as LocalAI's distributed mode does it: about a dozen statements for each request, two
 * transactions with row locks among them. The statements are ours, their number, order and locks are its.
 */
export interface Picked {
  id: number
  address: string
}

export function connectTo(url: string): Sql {
  return postgres(url, { max: 32, onnotice: () => {} })
}

export async function createTables(sql: Sql, addresses: readonly string[]): Promise<void> {
  await sql`create table nodes (id int primary key, address text, status text, available_vram bigint)`
  await sql`create table replicas (id int primary key, node_id int references nodes, model_name text, state text,
    in_flight int not null default 0, last_used timestamptz not null default now())`
  await sql`create index on replicas (model_name)`
  await sql`create table revisions (model_name text primary key, revision text)`
  await sql`create table rules (model_name text primary key, node_selector text)`
  for (const [id, address] of addresses.entries()) {
    await sql`insert into nodes values (${id}, ${address}, 'healthy', ${1e9})`
    await sql`insert into replicas (id, node_id, model_name, state) values (${id}, ${id}, ${MODEL_NAME}, 'loaded')`
  }
}

/** The least that a database can be asked for a request: where to, and that it was used, in one statement. */
export async function pickAtOnce(sql: Sql, model: string): Promise<Picked | undefined> {
  const [picked] = await sql<Picked[]>`
    with best as (
      select r.id from replicas r join nodes n on n.id = r.node_id
      where r.model_name = ${model} and r.state = 'loaded' and n.status = 'healthy'
      order by r.in_flight, r.last_used, n.available_vram desc limit 1)
    update replicas r set in_flight = r.in_flight + 1, last_used = now()
    from best, nodes n where r.id = best.id and n.id = r.node_id returning r.id, n.address`
  return picked
}

/**
 * What has ended since the last time, by replica, in one statement for all of it: without it the one statement would count
 * what was ever sent to a replica, and not what is in flight there.
 */
export async function giveBack(sql: Sql, ended: ReadonlyMap<number, number>): Promise<void> {
  await sql`update replicas r set in_flight = r.in_flight - e.count
    from unnest(${[...ended.keys()]}::int[], ${[...ended.values()]}::int[]) as e (id, count) where r.id = e.id`
}

/** Seven statements: which revision is meant, which rule holds, and the replica with the fewest in flight, locked. */
export async function pick(sql: Sql, model: string): Promise<Picked | undefined> {
  await sql.begin(async (tx) => {
    await tx`insert into revisions values (${model}, '1') on conflict do nothing`
    await tx`select revision from revisions where model_name = ${model} for update`
  })
  await sql`select node_selector from rules where model_name = ${model}`
  return sql.begin(async (tx) => {
    const [found] = await tx<{ id: number; node_id: number }[]>`
      select r.id, r.node_id from replicas r join nodes n on n.id = r.node_id
      where r.model_name = ${model} and r.state = 'loaded' and n.status = 'healthy'
      order by r.in_flight, r.last_used, n.available_vram desc limit 1 for update`
    if (!found) return undefined
    await tx`update replicas set in_flight = in_flight + 1, last_used = now() where id = ${found.id}`
    await tx`select * from replicas where id = ${found.id}`
    const [node] = await tx<{ address: string }[]>`select * from nodes where id = ${found.node_id}`
    return { id: found.id, address: node!.address }
  })
}

/** Two before the request goes out: it was used, and one more is in flight. */
export async function begin(sql: Sql, { id }: Picked): Promise<void> {
  await sql`update replicas set last_used = now() where id = ${id}`
  await sql`update replicas set in_flight = in_flight + 1 where id = ${id}`
}

/** And two after it: the request's own, and the one that the pick had reserved. */
export async function end(sql: Sql, { id }: Picked): Promise<void> {
  await sql`update replicas set in_flight = greatest(in_flight - 1, 0), last_used = now() where id = ${id}`
  await sql`update replicas set in_flight = greatest(in_flight - 1, 0) where id = ${id}`
}
