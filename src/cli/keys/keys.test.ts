import { describe, expect, test } from 'vitest'
import type { KeyView } from '../../api/admin/schemas.ts'
import { aCluster, flotilla, refused, type Answers } from '../../../test/support/cli/cli.ts'

function aKeyView(fields: Partial<KeyView> = {}): KeyView {
  return {
    id: '0198c7a0-5555-7000-8000-000000000001',
    name: 'notebook',
    state: 'active',
    scopes: ['inference'],
    models: null,
    created_at: Date.now(),
    expires_at: null,
    last_used_at: null,
    ...fields,
  }
}

const plain = aKeyView()
const boss = aKeyView({ id: '11111111-5555-7000-8000-000000000002', name: 'deploy', scopes: ['inference', 'admin'] })
const ended = aKeyView({
  id: '77777777-5555-7000-8000-000000000003',
  name: 'batch',
  state: 'expired',
  models: ['qwen', 'bge-m3'],
  expires_at: Date.now() - 7_300_000,
})
const created = { ...aKeyView({ expires_at: Date.now() + 3_700_000 }), key: 'fk_secret' }

async function run(args: string[], answers: Answers = {}) {
  const cluster = await aCluster({ 'GET /api/keys': [plain, boss, ended], ...answers })
  return { ...(await flotilla(['keys', ...args, '--data', cluster.data], { terminal: { columns: 120 } })), ...cluster }
}

test('flotilla keys rotate-admin prints the new admin key alone, and says what has ended', async () => {
  const answer = { key: 'fla_new', ended_sessions: 2 }
  const { code, stdout, stderr } = await run(['rotate-admin'], { 'POST /api/admin-key/rotate': answer })
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'fla_new\n' })
  expect(stderr).toContain('no longer works; 2 sessions ended')
  expect(stderr).toContain('admin.key in the data folder holds it too')
})

describe('flotilla keys', () => {
  test.each([[[]], [['list']]])('%j shows the keys and what each is good for', async (args) => {
    const { code, stdout, calls } = await run(args)
    expect({ code, calls }).toEqual({ code: 0, calls: ['GET /api/keys'] })
    expect(stdout).toBe(
      `NAME      STATE    SCOPE      MODELS        EXPIRES  ID
notebook  active   inference  all           never    0198c7a0-5555-7000-8000-000000000001
deploy    active   admin      all           never    11111111-5555-7000-8000-000000000002
batch     expired  inference  qwen, bge-m3  2h ago   77777777-5555-7000-8000-000000000003
`,
    )
  })

  test('without any it says how to make one, in the same cluster', async () => {
    const { stdout, data } = await run([], { 'GET /api/keys': [] })
    expect(stdout).toBe(`There are no API keys. This makes one:\n  flotilla keys create --name <name> --data ${data}\n`)
  })

  test.each<[string[], object]>([
    [['--name', 'notebook'], { name: 'notebook', scopes: ['inference'] }],
    [['--name', 'x', '--scope', 'admin'], { name: 'x', scopes: ['admin'] }],
    [
      ['--name', 'a b', '--models', 'qwen, org/m', '--models=bge', '--expires', '30d'],
      { name: 'a b', scopes: ['inference'], models: ['qwen', 'org/m', 'bge'], expires_in_s: 30 * 86_400 },
    ],
  ])('create %j prints the key alone', async (args, body) => {
    const { code, stdout, stderr, calls } = await run(['create', ...args], { 'POST /api/keys': created })
    expect({ code, stdout, calls }).toEqual({ code: 0, stdout: 'fk_secret\n', calls: [['POST /api/keys', body]] })
    expect(stderr).toBe(
      `Key notebook (${created.id})\nExpires in 1h, for inference with all models.\n` +
        'It is shown this once. Send it as Authorization: Bearer <key>.\n',
    )
  })

  test.each<[Partial<KeyView>, string]>([
    [{ scopes: ['admin'], expires_at: null }, 'Does not expire, for everything, as an admin.\n'],
    [{ models: ['qwen', 'bge'], expires_at: null }, 'Does not expire, for inference with qwen, bge.\n'],
  ])('create says what the key is good for: %j', async (fields, words) => {
    const { stderr } = await run(['create', '--name', 'x'], { 'POST /api/keys': { ...created, ...fields } })
    expect(stderr).toContain(words)
  })

  test.each([
    [['create'], '--name is needed'],
    [['create', '--name', 'x', '--scope', 'root'], '--scope: expected inference, read or admin, got "root".'],
    [['create', '--name', 'x', '--expires', 'soon'], '--expires: expected 30m, 1h or 30d, got "soon".'],
    [['create', '--name', 'x', '--expires', '0d'], '--expires: expected 30m, 1h or 30d, got "0d".'],
    [['create', '--name', 'x', '--models', ''], '--models'],
    [['create', '--name', 'x', '--models', 'a,,b'], '--models: expected names of models'],
    [['revoke'], 'which key?'],
  ])('%j is refused before anything is sent', async (args, message) => {
    const { code, stderr, calls } = await run(args)
    expect({ code, calls }).toEqual({ code: 2, calls: [] })
    expect(stderr).toContain(message)
  })

  test.each(['deploy', '1111', boss.id])('revoke %s', async (wanted) => {
    const call = `DELETE /api/keys/${boss.id}`
    const { stdout, calls } = await run(['revoke', wanted], { [call]: { ...boss, state: 'revoked' } })
    expect(calls).toEqual(['GET /api/keys', call])
    expect(stdout).toBe('Key deploy is revoked: gateways refuse it from now on.\n')
  })

  test('rotate prints the new key alone, and says how long the old one works', async () => {
    const call = `POST /api/keys/${boss.id}/rotate`
    const { stdout, stderr, calls } = await run(['rotate', 'deploy', '--overlap', '1h'], { [call]: created })
    expect(calls).toEqual(['GET /api/keys', [call, { overlap_s: 3600 }]])
    expect(stdout).toBe(`${created.key}\n`)
    expect(stderr).toContain(`The old key deploy (${boss.id}) works for another 1h.`)
    expect((await run(['rotate', 'deploy', '--overlap', 'soon'])).stderr).toContain('--overlap: expected 30m')
  })

  test('of several with one name, revoke means the one that works; an unknown one is told with near names', async () => {
    const again = aKeyView({ id: '88888888-5555-7000-8000-000000000003', name: 'batch' })
    const call = `DELETE /api/keys/${again.id}`
    const known = { 'GET /api/keys': [ended, again], [call]: { ...again, state: 'revoked' } }
    expect((await run(['revoke', 'batch'], known)).calls).toContain(call)
    expect((await run(['revoke', 'bach'])).stderr).toBe('There is no key "bach". Did you mean batch?\n')
  })

  test('what the API refuses is told', async () => {
    const refusal = refused(409, 'conflict', 'There are more API keys than gateways can be told of.')
    const { code, stdout, stderr } = await run(['create', '--name', 'x'], { 'POST /api/keys': refusal })
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain('more API keys than gateways can be told of')
  })

  test('names from elsewhere cannot write on the terminal', async () => {
    const { stdout } = await run([], { 'GET /api/keys': [aKeyView({ name: 'a\u001b[2Jb', models: ['c\u001b[2Jd'] })] })
    expect(stdout).not.toContain('\u001b')
  })

  test.each([
    [[], 'GET /api/keys', [plain]],
    [['create', '--name', 'x'], 'POST /api/keys', created],
    [['revoke', 'deploy'], `DELETE /api/keys/${boss.id}`, boss],
  ])("%j --json prints the API's JSON", async (args, call, reply) => {
    const { stdout, stderr } = await run([...args, '--json'], { [call]: reply })
    expect(JSON.parse(stdout)).toEqual(reply)
    expect(stderr).toBe('')
  })
})
