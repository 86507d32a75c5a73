import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ADMIN_KEY, aCluster, aNodeView, flotilla, refused } from '../../test/support/cli/cli.ts'
import { serve } from '../../test/support/http/http.ts'
import { tempFolder } from '../../test/support/temp-folder.ts'

const answers = { 'GET /api/nodes': [aNodeView()] }

describe('the cluster that a command talks to', () => {
  test('is the one of the data folder', async () => {
    const { data } = await aCluster(answers)
    expect(await flotilla(['nodes'], { env: { FLOTILLA_DATA: data } })).toMatchObject({ code: 0, stderr: '' })
  })

  test('is the one that is named, by flags or by variables', async () => {
    const { url } = await aCluster(answers)
    const data = tempFolder()
    const flags = ['--url', url, '--key', ADMIN_KEY]
    expect(await flotilla(['nodes', ...flags], { env: { FLOTILLA_DATA: data } })).toMatchObject({ code: 0 })
    const env = { FLOTILLA_URL: url, FLOTILLA_KEY: ADMIN_KEY, FLOTILLA_DATA: data }
    expect(await flotilla(['nodes'], { env })).toMatchObject({ code: 0 })
  })

  test('when there is none, it says how to get one', async () => {
    const data = tempFolder()
    expect(await flotilla(['nodes', '--data', data])).toEqual({
      code: 2,
      stdout: '',
      stderr: `No cluster runs on this machine with the data folder ${data}. Start one with flotilla up, or name one with --url and --key.\n`,
    })
  })

  test('the key of this machine is sent to no other cluster', async () => {
    const local = await aCluster(answers)
    const other = await aCluster(answers)
    const said = await flotilla(['nodes', '--data', local.data, '--url', other.url])
    expect(said.code).toBe(2)
    expect(said.stderr).toContain(`The admin key of ${other.url} is needed. Give it with --key or FLOTILLA_KEY`)
    expect(other.calls).toEqual([])
    expect(await flotilla(['nodes', '--data', local.data, '--url', `${local.url}/`])).toMatchObject({ code: 0 })
  })

  test('a wrong key is told with where it came from', async () => {
    const { url, data } = await aCluster(answers)
    const given = await flotilla(['nodes', '--data', data, '--key', 'wrong'])
    expect(given.code).toBe(1)
    expect(given.stderr).toContain(`${url} does not accept the admin key given with --key or FLOTILLA_KEY.`)
    expect(given.stderr).not.toContain('wrong')
    writeFileSync(join(data, 'admin.key'), 'old')
    const found = await flotilla(['nodes', '--data', data])
    expect(found.stderr).toContain(`does not accept the admin key in ${join(data, 'admin.key')}.`)
  })

  test('a frontend that was killed is out of reach', async () => {
    const data = tempFolder()
    writeFileSync(join(data, 'endpoint.json'), '{"url":"http://127.0.0.1:1","listen":"127.0.0.1:1"}')
    writeFileSync(join(data, 'admin.key'), 'k')
    expect(await flotilla(['nodes', '--data', data])).toMatchObject({
      code: 1,
      stderr:
        'Cannot reach the frontend at http://127.0.0.1:1: nothing listens there. Start it with flotilla up, or name another with --url and --key.\n',
    })
    const named = await flotilla(['nodes', '--url', 'http://nowhere.invalid', '--key', 'k'])
    expect(named.code).toBe(1)
    expect(named.stderr).toMatch(/^Cannot reach the frontend at http:\/\/nowhere\.invalid: .*\.\n$/)
  })

  test('what is not a frontend is called so', async () => {
    const page = await serve((_, response) => void response.end('<html>'))
    const said = await flotilla(['nodes', '--url', page, '--key', 'k'])
    expect(said.stderr).toContain('the answer (status 200) is not JSON: is this a Flotilla frontend?')
    const { data } = await aCluster({ 'GET /api/nodes': [{ id: 1 }] })
    const other = await flotilla(['nodes', '--data', data])
    expect(other.stderr).toContain('answered in a way that is not understood (0.id: ')
  })

  test('a refusal cannot write to the terminal', async () => {
    const { data } = await aCluster({ 'GET /api/nodes': refused(503, 'unavailable', 'not\u001B[2J now\n') })
    expect(await flotilla(['nodes', '--data', data])).toMatchObject({ code: 1, stderr: 'not now \n' })
  })

  test.each([
    ['endpoint.json', (data: string) => writeFileSync(join(data, 'endpoint.json'), '{'), 'does not hold the URL'],
    ['admin.key', (data: string) => rmSync(join(data, 'admin.key')), 'There is no admin key in '],
    [
      'an unreadable file',
      (data: string) => {
        rmSync(join(data, 'admin.key'))
        mkdirSync(join(data, 'admin.key'))
      },
      'Cannot read ',
    ],
  ])('a broken data folder: %s', async (_, breakIt, message) => {
    const { data } = await aCluster(answers)
    breakIt(data)
    const said = await flotilla(['nodes', '--data', data])
    expect(said.code).toBe(2)
    expect(said.stderr).toContain(message)
  })
})
