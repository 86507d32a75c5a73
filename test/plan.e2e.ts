import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runFlotilla, startUp } from './support/flotilla.ts'
import { tempFolder } from './support/temp-folder.ts'
import { until } from './support/until.ts'

test('a document is planned, applied and served, and what is exported changes nothing', async () => {
  const up = await startUp({ args: ['--node-name', 'thor'] })
  const path = join(tempFolder(), 'flotilla.yaml')
  const flotilla = async (...args: string[]) => {
    const { code, stdout, stderr } = await runFlotilla([...args, '--data', up.data])
    return { code, stdout, stderr }
  }
  writeFileSync(
    path,
    `models:
  - name: quick
    engine: sim
    options: { tokens_per_s: 100 }
rules:
  - model_name: quick
    min_replicas: 1
    node_selector: { tier: fast }
nodes:
  - name: thor
    labels: { tier: fast }
`,
  )
  const planned = await flotilla('plan', '-f', path, '--detailed-exitcode')
  expect(planned.code).toBe(2)
  expect(planned.stdout).toMatch(/start +quick#0 +thor/)
  expect(planned.stdout).toContain(`flotilla apply -f ${path} --data ${up.data}`)

  const unasked = await flotilla('apply', '-f', path)
  expect(unasked).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes') })
  expect(await flotilla('apply', '-f', path, '--yes')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('Applied 3 changes.'),
  })
  await until(async () => /quick +ready +1 +1\/1/.test((await flotilla('status')).stdout), 30_000)
  expect((await flotilla('status')).stdout).toContain('Nothing is wrong.')

  writeFileSync(path, (await flotilla('export')).stdout)
  const again = await flotilla('plan', '-f', path, '--prune', '--detailed-exitcode')
  expect(again).toMatchObject({ code: 0, stdout: 'There is nothing to change.\n' })

  const without = await flotilla('whatif', '--node-lost', 'thor')
  expect(without.stdout).toMatch(/lost +quick#0 +thor/)
  expect(without.stdout).toContain('quick: 1 replica finds no place')
  expect((await flotilla('whatif', '--node-lost', 'thro')).stderr).toContain('did you mean thor?')
})
