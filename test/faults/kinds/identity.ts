import { cpSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Fault } from '../fault.ts'
import type { Cluster } from '../harness/cluster.ts'

const OTHER = '00000000-0000-4000-8000-000000000000'

/** Stores and frontends that are not what they were. Requests go on with the table that gateways have, and nothing ends. */
export const identityFaults: Fault[] = [
  {
    name: 'the store of another cluster',
    group: 'store',
    holdMs: 8000,
    async strike({ ground }) {
      const [row] = await ground.rows<{ value: string }>("select value from cluster_facts where name = 'cluster_id'")
      const call = (id: string) =>
        ground.rows(`update cluster_facts set value = '${id}' where name = 'cluster_id'`).then(() => {})
      await call(OTHER)
      return { heal: () => call(row!.value), keepsReplicas: true }
    },
  },
  {
    name: 'a store without tables',
    group: 'store',
    holdMs: 8000,
    async strike({ ground }) {
      // As an empty standby in its place: what is asked for is not there.
      await ground.rows('alter schema public rename to away; create schema public')
      const heal = async (): Promise<void> => {
        await ground.rows('drop schema public; alter schema away rename to public')
      }
      return { heal, keepsReplicas: true }
    },
  },
  {
    name: 'all frontends start empty',
    group: 'frontend',
    holdMs: 12_000,
    async strike(cluster) {
      await emptied(cluster)
      return { heal: () => filled(cluster), keepsReplicas: true }
    },
  },
]

/** Their folders and the tables are gone; only what a person gives all frontends is there again. */
async function emptied({ frontends, ground }: Cluster): Promise<void> {
  await Promise.all(frontends.map((frontend) => frontend.kill()))
  await ground.rows('alter schema public rename to away; create schema public')
  for (const { data } of frontends) {
    renameSync(data, `${data}.away`)
    for (const name of ['admin.key', 'join.token']) cpSync(join(`${data}.away`, name), join(data, name))
  }
  for (const frontend of frontends) {
    frontend.start()
    await frontend.serves()
  }
}

async function filled({ frontends, ground }: Cluster): Promise<void> {
  await Promise.all(frontends.map((frontend) => frontend.kill()))
  await ground.rows('drop schema public cascade; alter schema away rename to public')
  for (const { data } of frontends) {
    rmSync(data, { recursive: true })
    renameSync(`${data}.away`, data)
  }
  for (const frontend of frontends) {
    frontend.start()
    await frontend.serves()
  }
}
