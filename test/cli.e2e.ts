import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runFlotilla, startUp, startWorkerProcess } from './support/flotilla.ts'
import { until } from './support/until.ts'

test('an admin runs a cluster from the command line: tokens, approval, labels, slots, budget, drain, removal', async () => {
  const up = await startUp()
  const flotilla = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await runFlotilla([...args, '--data', up.data])
    expect({ args, code, stderr: code === 0 ? '' : stderr }).toEqual({ args, code: 0, stderr: '' })
    for (const line of stdout.split('\n')) expect(line.length, line).toBeLessThanOrEqual(80)
    return stdout
  }
  const refused = async (...args: string[]): Promise<string> => {
    const { code, stderr } = await runFlotilla([...args, '--data', up.data])
    expect(code).not.toBe(0)
    return stderr
  }
  const status = async (): Promise<string | undefined> =>
    (JSON.parse(await flotilla('nodes', '--json')) as { name: string; status: string }[]).find(
      ({ name }) => name === 'thor',
    )?.status

  const token = (await flotilla('token', 'create', '--name', 'rack', '--uses', '1')).trim()
  expect(token).toMatch(/^flj_/)
  const worker = startWorkerProcess({ join: up.url, token, name: 'thor' })
  await until(async () => (await status()) === 'pending')
  expect(await flotilla('nodes')).toContain('flotilla nodes approve thor')
  expect(await flotilla('token')).toMatch(/rack +used up +1\/1/)
  expect(await refused('nodes', 'approve', 'thro')).toContain('Did you mean thor?')
  expect(await flotilla('nodes', 'approve', 'thor')).toBe('thor is approved.\n')
  await until(async () => (await status()) === 'healthy')
  expect(await refused('nodes', 'approve', 'thor')).toContain('approved already')

  expect(await flotilla('nodes', 'label', 'thor', 'tier=fast', 'зона=Köln')).toMatch(/зона +Köln +admin/)
  expect(await flotilla('nodes', 'slots', 'thor', '3')).toContain('thor may run 3 replicas per model.')
  expect(await refused('nodes', 'slots', 'thor', '0')).toContain('at least 1')
  expect(await refused('nodes', 'budget', 'thor', '80')).toContain('expected a share such as 80%')
  expect(await flotilla('nodes', 'budget', 'thor', '80%')).toContain('80%')
  expect(await flotilla('nodes', 'show', 'thor')).toMatch(/Slots +3 replicas per model/)
  expect(await flotilla('nodes', 'slots', 'thor', '--reset')).toContain('thor may run 1 replica per model.')

  await flotilla('nodes', 'drain', 'thor')
  expect(await status()).toBe('draining')
  await flotilla('nodes', 'resume', 'thor')
  expect(await status()).toBe('healthy')
  expect(await refused('nodes', 'remove', 'thor')).toContain('--yes')
  expect(await flotilla('nodes', 'remove', 'thor', '--yes')).toBe('thor is removed.\n')
  expect((await worker.ended).code).toBe(3)
  expect(await status()).toBeUndefined()

  const before = readFileSync(join(up.data, 'join.token'), 'utf8')
  await flotilla('token', 'rotate')
  expect(readFileSync(join(up.data, 'join.token'), 'utf8')).not.toBe(before)
  await flotilla('token', 'revoke', 'rack')
  expect(await flotilla('token')).toMatch(/rack +revoked/)
})

test('without a cluster the commands say how to get one', async () => {
  const { code, stderr } = await runFlotilla(['nodes', '--data', '/nowhere'])
  expect(code).toBe(2)
  expect(stderr).toContain('Start one with flotilla up, or name one with --url and --key.')
})
