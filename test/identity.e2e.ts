import { cpSync, existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { ClusterView } from '../src/api/admin/cluster-schemas.ts'
import { Cluster } from './support/cluster.ts'
import { enginesOf, runFlotilla } from './support/flotilla.ts'
import { tempFolder } from './support/temp-folder.ts'
import { isAlive, until } from './support/until.ts'

/** A frontend that is stopped, and what is in its data folder then. */
async function stopAndCopy(cluster: Cluster): Promise<string> {
  await cluster.frontend.signal('SIGTERM')
  const copy = join(tempFolder(), 'copy')
  cpSync(cluster.frontend.data, copy, { recursive: true })
  return copy
}

function putBack(cluster: Cluster, copy: string): void {
  rmSync(cluster.frontend.data, { recursive: true })
  cpSync(copy, cluster.frontend.data, { recursive: true })
}

const problems = async (cluster: Cluster): Promise<string[]> =>
  (await cluster.ask<ClusterView>('GET', '/api/cluster')).problems.map(({ text }) => text)
const tells = (cluster: Cluster, text: string): Promise<void> =>
  until(async () => (await problems(cluster)).some((problem) => problem.includes(text)))

test('a frontend that starts empty at the old address ends no worker and no engine; with its folder back all goes on', async () => {
  const cluster = await Cluster.start('--auto-approve', '--offline-after-ms', '15000')
  const workers = await cluster.members('a', 'b')
  await cluster.model('m', 2)
  const engines = workers.flatMap(({ data }) => enginesOf(data))
  const copy = await stopAndCopy(cluster)
  rmSync(cluster.frontend.data, { recursive: true })
  await cluster.restart()
  await tells(cluster, 'belong to another cluster')
  await until(() => workers.every((worker) => worker.stderr().includes('--new-cluster')))
  expect(engines.every(isAlive)).toBe(true)

  await cluster.frontend.signal('SIGTERM')
  putBack(cluster, copy)
  await cluster.restart()
  for (const { name } of workers) await cluster.isHealthy(name)
  await until(() => cluster.answers('m'))
  expect(workers.flatMap(({ data }) => enginesOf(data))).toEqual(engines)
  expect(workers.map(({ pid }) => isAlive(pid))).toEqual([true, true])
})

test('a store from before a node joined: the node comes back by itself with its engines, and status says what happened', async () => {
  const cluster = await Cluster.start('--auto-approve', '--offline-after-ms', '15000')
  const [a] = await cluster.members('a')
  await cluster.model('m', 1)
  const older = await stopAndCopy(cluster)
  await cluster.restart()
  await cluster.isHealthy('a')
  const b = cluster.worker('b')
  await cluster.isHealthy('b')
  const { id } = (await cluster.node('b'))!
  await cluster.keep('other', 1, { 'node.name': 'b' }, { ttft_ms: 0, tokens_per_s: 0 })
  const engines = [...enginesOf(a!.data), ...enginesOf(b.data)]
  expect(engines).toHaveLength(2)

  await cluster.frontend.signal('SIGTERM')
  for (const name of ['flotilla.db', 'flotilla.db-wal', 'flotilla.db-shm']) {
    rmSync(join(cluster.frontend.data, name), { force: true })
    if (existsSync(join(older, name))) cpSync(join(older, name), join(cluster.frontend.data, name))
  }
  await cluster.restart()
  await tells(cluster, 'The store went back in time')
  await cluster.isHealthy('b')
  expect((await cluster.node('b'))!.id).not.toBe(id)
  await until(() => cluster.answers('m'))
  expect([...enginesOf(a!.data), ...enginesOf(b.data)]).toEqual(engines)
})

test('an empty database under a known data folder is refused, and taken with --new-cluster', async () => {
  const cluster = await Cluster.start()
  const { data, url } = cluster.frontend
  await cluster.frontend.signal('SIGTERM')
  for (const name of ['flotilla.db', 'flotilla.db-wal', 'flotilla.db-shm']) rmSync(join(data, name), { force: true })
  const args = ['frontend', '--data', data, '--listen', new URL(url).host]
  const refused = await runFlotilla(args)
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringMatching(/is empty.*db import.*--new-cluster/s)])
  expect(existsSync(join(data, 'flotilla.db-wal'))).toBe(false)
  const again = new Cluster(cluster.frontend, ['--new-cluster', '--auto-approve'])
  await again.restart()
  expect(await problems(again)).toEqual([])
})
