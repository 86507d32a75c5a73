import { copyFileSync, mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { RuleView } from '../src/api/admin/rule-schemas.ts'
import type { KeyView } from '../src/api/admin/schemas.ts'
import { Cluster } from './support/cluster.ts'
import { enginesOf, runFlotilla, startFrontend } from './support/flotilla.ts'
import { createTestDatabase } from './support/postgres/postgres.ts'
import { tempFolder } from './support/temp-folder.ts'
import { until } from './support/until.ts'

test('a cluster goes on from a backup, on another store and in another data folder, and its engines go on running', async () => {
  const cluster = await Cluster.start()
  const worker = cluster.worker('a')
  await cluster.has('a', 'pending')
  const { id } = (await cluster.node('a'))!
  await cluster.ask('POST', `/api/nodes/${id}/approve`)
  await cluster.isHealthy('a')
  await cluster.ask('PUT', `/api/nodes/${id}/labels`, { tier: 'fast' })
  await cluster.ask('POST', '/api/keys', { name: 'notebook' })
  await cluster.model('m', 1)
  const facts = async () => ({
    keys: await cluster.ask<KeyView[]>('GET', '/api/keys'),
    rules: (await cluster.ask<RuleView[]>('GET', '/api/nodes/scheduling')).map(({ model_name, min_replicas }) => ({
      model_name,
      min_replicas,
    })),
    labels: (await cluster.node('a'))?.labels,
    replicas: (await cluster.ready('m')).map((replica) => ({ id: replica.id, generation: replica.generation })),
  })
  const before = await facts()
  const engines = enginesOf(worker.data)
  expect(engines).toHaveLength(1)

  const backup = join(tempFolder(), 'backup.jsonl.gz')
  const exported = await runFlotilla(['db', 'export', backup, '--data', cluster.frontend.data])
  expect(exported).toMatchObject({ code: 0, stdout: expect.stringMatching(/nodes +1\n[^]*written to/) })
  expect(exported.stderr).toContain('holds the secret of the cluster')
  expect(statSync(backup).mode & 0o777).toBe(0o600)
  expect((await cluster.frontend.signal('SIGTERM')).code).toBe(0)

  const data = join(tempFolder(), 'restored')
  mkdirSync(data, { mode: 0o700 })
  for (const name of ['admin.key', 'join.token']) copyFileSync(join(cluster.frontend.data, name), join(data, name))
  const database = await createTestDatabase()
  onTestFinished(() => database.drop())
  const env = { FLOTILLA_DATABASE_URL: database.url }
  const importing = ['db', 'import', backup, '--data', data]
  expect(await runFlotilla(importing, env)).toMatchObject({ code: 0, stdout: expect.stringContaining('imported') })
  expect(await runFlotilla(['db', 'check', '--data', data], env)).toMatchObject({ code: 0 })

  const listen = new URL(cluster.frontend.url).host
  cluster.frontend = await startFrontend({
    data,
    listen,
    env,
    args: ['--heartbeat-ms', '300', '--offline-after-ms', '3000'],
  })
  await cluster.isHealthy('a')
  await until(() => cluster.answers('m'))
  expect(await facts()).toEqual(before)
  expect((await cluster.node('a'))?.id).toBe(id)
  expect(enginesOf(worker.data)).toEqual(engines)

  const refused = await runFlotilla([...importing, '--replace'], env)
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('A frontend runs on the database') })
  await worker.signal('SIGKILL')
  cluster.worker('a', { data: worker.data })
  await until(() => cluster.answers('m'))
  expect(enginesOf(worker.data)).toEqual(engines)
  expect((await facts()).replicas).toEqual(before.replicas)
})
