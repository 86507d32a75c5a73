import { writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ADMIN_KEY, aCluster, aTokenView, flotilla, type Answers } from '../../../test/support/cli/cli.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'

const main = aTokenView()
const usedUp = aTokenView({
  id: '77777777-4444-7000-8000-000000000002',
  name: 'rack-7',
  state: 'used up',
  max_uses: 8,
  uses: 8,
  expires_at: Date.now() + 7_300_000,
  last_used_at: Date.now() - 4 * 60_000 - 1000,
})
const created = { ...aTokenView({ name: 'rack-8' }), token: 'flj_secret' }

async function run(args: string[], answers: Answers = {}) {
  const cluster = await aCluster({ 'GET /api/tokens': [main, usedUp], ...answers })
  writeFileSync(join(cluster.data, 'join.token'), 'flj_default\n')
  return { ...(await flotilla(['token', ...args, '--data', cluster.data])), ...cluster }
}

describe('flotilla token', () => {
  test('shows the tokens and how to join, and no secret', async () => {
    const { code, stdout, url, data, calls } = await run([])
    expect({ code, calls }).toEqual({ code: 0, calls: ['GET /api/tokens'] })
    const { port } = new URL(url)
    expect(stdout).toBe(
      `NAME     STATE    USES  EXPIRES  LAST USED  ID
default  active      4  never    never      0198c7a0-4444-7000-8000-000000000001
rack-7   used up   8/8  in 2h    4m ago     77777777-4444-7000-8000-000000000002

To join a machine, copy a token to it and start a worker there:
  scp ${data}/join.token <machine>:join.token
  flotilla worker --join http://${hostname()}:${port} --token-file join.token

Other machines cannot reach this frontend yet. Start it with
  --listen 0.0.0.0:${port}
`,
    )
    expect(stdout).not.toContain('flj_')
  })

  test('of a cluster elsewhere it has no file to copy', async () => {
    const { url } = await run([])
    const named = ['--url', url, '--key', ADMIN_KEY]
    const { stdout } = await flotilla(['token', ...named], { env: { FLOTILLA_DATA: tempFolder() } })
    expect(stdout).toContain(`  flotilla token create --url ${url} | ssh <machine> 'umask 077; cat > join.token'\n`)
  })

  test.each([
    [['create'], {}],
    [
      ['create', '--name', 'rack 8', '--expires', '1h', '--uses', '3'],
      { name: 'rack 8', expires_in_s: 3600, max_uses: 3 },
    ],
  ])('%j prints the token alone', async (args, body) => {
    const { code, stdout, stderr, calls } = await run(args, { 'POST /api/tokens': created })
    expect({ code, stdout, calls }).toEqual({ code: 0, stdout: 'flj_secret\n', calls: [['POST /api/tokens', body]] })
    expect(stderr).toBe(
      `Token rack-8 (${created.id})\nDoes not expire, for any number of nodes.\nIt is shown this once.\n`,
    )
  })

  test('rotate prints the new token alone', async () => {
    const limited = { ...created, max_uses: 1, expires_at: Date.now() + 3_700_000 }
    const { stdout, stderr, calls } = await run(['rotate'], { 'POST /api/tokens/rotate': limited })
    expect({ stdout, calls }).toEqual({ stdout: 'flj_secret\n', calls: ['POST /api/tokens/rotate'] })
    expect(stderr).toContain('Expires in 1h, for 1 node.\nThe one before no longer works; nodes that have joined stay.')
  })

  test.each(['rack-7', '7777', usedUp.id])('revoke %s', async (wanted) => {
    const call = `DELETE /api/tokens/${usedUp.id}`
    const { stdout, calls } = await run(['revoke', wanted], { [call]: { ...usedUp, state: 'revoked' } })
    expect(calls).toEqual(['GET /api/tokens', call])
    expect(stdout).toBe(`Token rack-7 is revoked; nodes that joined with it stay.\n`)
  })

  test('of several with one name, revoke means the one that works; else it says which there are', async () => {
    const again = aTokenView({ id: '88888888-4444-7000-8000-000000000002', name: 'rack-7' })
    const third = { ...again, id: '99999999-4444-7000-8000-000000000002' }
    const call = `DELETE /api/tokens/${again.id}`
    const known = { 'GET /api/tokens': [usedUp, again], [call]: again }
    expect((await run(['revoke', 'rack-7'], known)).calls).toContain(call)
    const { code, stderr } = await run(['revoke', 'rack-7'], { 'GET /api/tokens': [usedUp, again, third] })
    expect(code).toBe(2)
    expect(stderr).toContain('"rack-7" may mean more than one token: rack-7 (77777777-')
    expect((await run(['revoke', 'rack-9'])).stderr).toBe('There is no token "rack-9". Did you mean rack-7?\n')
  })

  test('show prints the secret of this machine, and needs no cluster for it', async () => {
    expect(await run(['show'])).toMatchObject({ code: 0, stdout: 'flj_default\n', calls: [] })
    const data = tempFolder()
    const none = await flotilla(['token', 'show', '--data', data])
    expect(none.code).toBe(2)
    expect(none.stderr).toContain(`There is no join token in ${join(data, 'join.token')}.`)
  })

  test.each([
    [['create', '--expires', 'soon'], '--expires: expected 30m, 1h or 7d, got "soon".'],
    [['create', '--expires', '0h'], '--expires: expected 30m, 1h or 7d, got "0h".'],
    [['create', '--uses', '0'], '--uses: expected a whole number from 1, got "0".'],
  ])('%j is refused before anything is sent', async (args, message) => {
    const { code, stderr, calls } = await run(args)
    expect({ code, calls }).toEqual({ code: 2, calls: [] })
    expect(stderr).toContain(message)
  })

  test.each([
    [[], 'GET /api/tokens', [main]],
    [['create'], 'POST /api/tokens', created],
    [['rotate'], 'POST /api/tokens/rotate', created],
    [['revoke', 'rack-7'], `DELETE /api/tokens/${usedUp.id}`, usedUp],
  ])("%j --json prints the API's JSON", async (args, call, reply) => {
    const { stdout, stderr } = await run([...args, '--json'], { [call]: reply })
    expect(JSON.parse(stdout)).toEqual(reply)
    expect(stderr).toBe('')
  })

  test('show --json', async () => {
    expect(JSON.parse((await run(['show', '--json'])).stdout)).toEqual({ token: 'flj_default' })
  })
})
