import { describe, expect, test } from 'vitest'
import { ADMIN_KEY, aCluster, flotilla, refused } from '../../../test/support/cli/cli.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'

const made = () => ({ code: 'flo_once', expires_at: Date.now() + 600_500 })

describe('flotilla dashboard', () => {
  test('prints the link alone, and beside it what it is good for', async () => {
    const { data, url, calls } = await aCluster({ 'POST /api/session/codes': made })
    const { code, stdout, stderr } = await flotilla(['dashboard', '--data', data])
    expect({ code, stdout, calls }).toEqual({
      code: 0,
      stdout: `${url}/sign-in#flo_once\n`,
      calls: ['POST /api/session/codes'],
    })
    expect(stderr).toBe('Good once, for 10m. Open it in a browser:\n')
  })

  test('--json prints link and end', async () => {
    const { data, url } = await aCluster({ 'POST /api/session/codes': made })
    const { stdout, stderr } = await flotilla(['dashboard', '--json', '--data', data])
    expect(JSON.parse(stdout)).toEqual({ url: `${url}/sign-in#flo_once`, expires_at: expect.any(Number) })
    expect(stderr).toBe('')
  })

  test('works for a cluster elsewhere, with its key', async () => {
    const { url } = await aCluster({ 'POST /api/session/codes': made })
    const env = { FLOTILLA_DATA: tempFolder(), FLOTILLA_KEY: ADMIN_KEY }
    expect((await flotilla(['dashboard', '--url', `${url}/`], { env })).stdout).toBe(`${url}/sign-in#flo_once\n`)
  })

  test('says why there is none', async () => {
    const { data } = await aCluster({ 'POST /api/session/codes': refused(403, 'forbidden', 'For inference only.') })
    expect(await flotilla(['dashboard', '--data', data])).toMatchObject({
      code: 1,
      stdout: '',
      stderr: 'For inference only.\n',
    })
  })
})
