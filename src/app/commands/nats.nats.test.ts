import { spawn } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { permissionsFor } from '../../api/bus/subjects.ts'
import { connectNats } from '../../bus/connect.ts'
import { newSeed, publicKeyOf } from '../../bus/nkey.ts'
import { mintUserJwt, readAccount } from '../../bus/user-jwt.ts'
import { parseArguments } from '../../cli/parse-arguments.ts'
import { runNats } from './nats.ts'
import { freePort } from '../../../test/support/http/free-port.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { until } from '../../../test/support/until.ts'

function nats(...args: string[]): string {
  const json = args.includes('--json')
  const parsed = parseArguments(['nats', ...args])
  if (parsed.kind !== 'run') throw new Error('is no command')
  let printed = ''
  runNats(parsed, { json }, { print: (text: string) => (printed += text) } as never)
  return printed
}

/** A server with what `flotilla nats setup` has written, and what frontends sign with its seed file. */
async function aServer() {
  const folder = join(tempFolder(), 'nats')
  const port = await freePort()
  nats('setup', folder, '--listen', `127.0.0.1:${port}`)
  const server = spawn('nats-server', ['-c', join(folder, 'nats-server.conf')], { stdio: 'ignore' })
  onTestFinished(() => void server.kill('SIGKILL'))
  const isUp = () =>
    new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => resolve(true)).once('error', () => resolve(false))
      socket.once('data', () => socket.destroy())
    })
  await until(isUp)
  const sign = (seed: string) => {
    const signer = readAccount(readFileSync(join(folder, 'account.seed'), 'utf8'), 'account.seed')
    const user = {
      publicKey: publicKeyOf(seed),
      name: 'a node',
      permissions: permissionsFor('node', 'n1'),
      lifeMs: 60_000,
    }
    return mintUserJwt(signer, user, Date.now())
  }
  const comesIn = async (seed: string, jwt: string): Promise<boolean> => {
    const url = `nats://127.0.0.1:${port}`
    try {
      await (await connectNats({ url, seed, jwt: () => jwt }, 'node', 'n1')).close()
      return true
    } catch {
      return false
    }
  }
  return { folder, sign, comesIn, reload: () => server.kill('SIGHUP') }
}

test('users that frontends sign are let in; keys are rotated in peace, and single users revoked', async () => {
  const { folder, sign, comesIn, reload } = await aServer()
  for (const name of ['operator.json', 'account.seed']) expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600)
  expect(statSync(folder).mode & 0o777).toBe(0o700)
  const [first, second] = [newSeed(), newSeed()]
  const old = sign(first)
  expect(await comesIn(first, old)).toBe(true)
  expect(await comesIn(second, old)).toBe(false)

  expect(nats('rotate', folder)).toContain('nats-server --signal reload')
  reload()
  const fresh = sign(second)
  await until(() => comesIn(second, fresh))
  expect(await comesIn(first, old)).toBe(true)
  nats('rotate', folder, '--retire')
  reload()
  await until(async () => !(await comesIn(first, old)))
  expect(await comesIn(second, fresh)).toBe(true)

  nats('revoke', publicKeyOf(second), folder)
  reload()
  await until(async () => !(await comesIn(second, fresh)))
  const third = newSeed()
  expect(await comesIn(third, sign(third))).toBe(true)
  expect(nats('show', folder)).toMatch(/signing keys {2}1\n {2}revoked {7}1\n {2}U/)
  expect(JSON.parse(nats('show', folder, '--json'))).toMatchObject({ folder, signing_keys: [expect.any(String)] })
})

test('an operator that is there is never overwritten, and what is wrong is said without a secret', async () => {
  const folder = join(tempFolder(), 'nats')
  nats('setup', folder)
  const before = readFileSync(join(folder, 'operator.json'), 'utf8')
  expect(() => nats('setup', folder)).toThrow('There is an operator in')
  expect(readFileSync(join(folder, 'operator.json'), 'utf8')).toBe(before)
  expect(() => nats('rotate', tempFolder())).toThrow('Name the folder that flotilla nats setup has written')
  expect(() => nats('revoke', 'thor', folder)).toThrow('is not the public key of a user')
  expect(() => nats('setup', join(folder, 'x'), '--listen', 'nowhere')).toThrow('expected host:port')
})
