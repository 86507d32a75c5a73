import type { Browser } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import type { SignInCode } from '../src/api/admin/session-schemas.ts'
import { forFile } from './support/at-end.ts'
import { Cluster } from './support/cluster.ts'
import { adminKey, gone, question, rowOf, shown, startBrowser, toast, visit } from './support/ui/dashboard.ts'

/** A frontend that nobody has joined yet: who may look, who may ask, and how the first machine comes. */
let cluster: Cluster
let browser: Browser
beforeAll(() =>
  forFile(async () => {
    ;[cluster, browser] = await Promise.all([Cluster.start(), startBrowser()])
  }),
)

const REFUSED = /status of 401/

test('a wrong key is refused with a reason, the right one opens the page that was asked for, and signing out ends it', async () => {
  const { page, complaints } = await visit(browser, cluster.frontend, '/rules', {
    isSignedIn: false,
    expected: REFUSED,
  })
  const key = page.getByLabel('Admin key')
  const enter = page.getByRole('button', { name: 'Sign in' })
  await shown(key)
  expect(await enter.isDisabled()).toBe(true)
  await key.fill('not-the-key')
  await enter.click()
  await shown(page.getByText('This key does not sign in'))
  expect(await key.getAttribute('aria-invalid')).toBe('true')

  await key.fill(adminKey(cluster.frontend))
  await key.press('Enter')
  await shown(page.getByRole('heading', { name: 'Rules' }))
  // No script can read what signs in, so none can carry it away.
  expect(await page.evaluate('document.cookie')).toBe('')

  const other = await page.context().newPage()
  await other.goto('/nodes')
  await shown(other.getByRole('heading', { name: 'Nodes' }))
  await page.getByRole('button', { name: /^Sign out/ }).click()
  await shown(key)
  await shown(other.getByLabel('Admin key'))
  await page.goto('/access')
  await shown(key)
  expect(complaints).toEqual([])
})

test('a link signs in once, and leaves no code in the address', async () => {
  const { code } = await cluster.ask<SignInCode>('POST', '/api/session/codes')
  const link = `/sign-in#${code}`
  const first = await visit(browser, cluster.frontend, link, { isSignedIn: false })
  await shown(first.page.getByRole('heading', { name: 'Fleet' }))
  expect(first.page.url()).toBe(`${cluster.frontend.url}/`)
  expect(first.complaints).toEqual([])

  const second = await visit(browser, cluster.frontend, link, { isSignedIn: false, expected: REFUSED })
  await shown(second.page.getByText('This link was used before'))
  expect(second.page.url()).not.toContain(code)
  expect(second.complaints).toEqual([])
})

test('what is downloaded first is small, and pages of an empty cluster say what to do', async () => {
  const { page, complaints } = await visit(browser, cluster.frontend, '/')
  await shown(page.getByText('No machine has joined yet. “Join a node” shows the command'))
  const files = await page.evaluate<{ name: string; bytes: number; isPacked: boolean }[]>(`
    performance.getEntriesByType('resource').filter(({ name }) => /[.](js|css)$/.test(name))
      .map(({ name, encodedBodySize: bytes, decodedBodySize }) => ({ name, bytes, isPacked: bytes < decodedBodySize }))`)
  expect(files.length).toBeGreaterThanOrEqual(2)
  expect(files.filter(({ isPacked }) => !isPacked)).toEqual([])
  expect(files.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThan(250_000)

  const places = page.getByRole('navigation', { name: 'Pages' })
  await places.getByRole('link', { name: 'Nodes' }).click()
  await shown(page.getByText('No machine has joined yet.'))
  await places.getByRole('link', { name: 'Models' }).click()
  await shown(page.getByText('There are no models yet.'))
  await places.getByRole('link', { name: 'Rules' }).click()
  await shown(page.getByText('There are no rules.'))
  await places.getByRole('link', { name: 'Playground' }).click()
  await shown(page.getByText('There are no models yet.'))
  await page.goto('/nowhere')
  await shown(page.getByText('There is no page at this address.'))
  await page.goto('/nodes/unknown')
  await shown(page.getByRole('heading', { name: 'Node not found' }))
  expect(complaints).toEqual([])
})

test('a key is shown once, does what it may, and nothing more once it is revoked', async () => {
  const { page, complaints } = await visit(browser, cluster.frontend, '/access')
  await page.getByRole('button', { name: 'New key' }).click()
  const dialog = page.getByRole('dialog', { name: 'New API key' })
  const make = dialog.getByRole('button', { name: 'Make the key' })
  expect(await make.isDisabled()).toBe(true)
  await dialog.getByLabel('What it is for').fill('robot')
  await dialog.getByRole('radio', { name: 'Everything' }).click()
  await gone(dialog.getByLabel('Only these models'))
  await make.click()
  await shown(toast(page, 'robot is ready to be used.'))
  const made = page.getByRole('dialog', { name: 'The key robot' })
  const key = await made.getByLabel('Key', { exact: true }).innerText()
  const ask = async (): Promise<number> => {
    const headers = { authorization: `Bearer ${key}` }
    return (await fetch(`${cluster.frontend.url}/api/nodes`, { headers })).status
  }
  expect(await ask()).toBe(200)
  await made.getByRole('button', { name: 'Done' }).click()
  await shown(rowOf(page, 'robot').getByText('active'))
  expect(await page.content()).not.toContain(key)

  await page.getByRole('button', { name: 'Revoke robot' }).click()
  const sure = question(page, 'Revoke robot?')
  await sure.getByRole('button', { name: 'Cancel' }).click()
  await gone(sure)
  expect(await ask()).toBe(200)
  await page.getByRole('button', { name: 'Revoke robot' }).click()
  await sure.getByRole('button', { name: 'Revoke' }).click()
  await shown(toast(page, 'robot no longer works.'))
  await shown(rowOf(page, 'robot').getByText('revoked'))
  expect(await ask()).toBe(401)
  expect(complaints).toEqual([])
})

test('a join token is shown once and revoked, and one for no machine at all is not made', async () => {
  const { page, complaints } = await visit(browser, cluster.frontend, '/access')
  await page.getByRole('button', { name: 'New token' }).click()
  const dialog = page.getByRole('dialog', { name: 'New join token' })
  await dialog.getByLabel('What it is for').fill('lab')
  await dialog.getByLabel('How many machines').fill('0')
  await dialog.getByRole('button', { name: 'Make the token' }).click()
  expect(await dialog.locator('input:invalid').count()).toBe(1)
  await dialog.getByLabel('How many machines').fill('2')
  await dialog.getByRole('button', { name: 'Make the token' }).click()
  const made = page.getByRole('dialog', { name: 'The token lab' })
  const token = await made.getByLabel('Token', { exact: true }).innerText()
  await page.keyboard.press('Escape')
  await gone(made)
  await shown(rowOf(page, 'lab').getByText('0 of 2'))
  expect(await page.content()).not.toContain(token)
  await page.getByRole('button', { name: 'Revoke lab' }).click()
  await question(page, 'Revoke lab?').getByRole('button', { name: 'Revoke' }).click()
  await shown(rowOf(page, 'lab').getByText('revoked'))
  expect(complaints).toEqual([])
})

test('the dialog for a new node has the command, sees the machine come, and lets it in', async () => {
  const { page, complaints } = await visit(browser, cluster.frontend, '/nodes')
  await page.getByRole('button', { name: 'Join a node' }).first().click()
  const dialog = page.getByRole('dialog', { name: 'Join a node' })
  const command = dialog.getByLabel('Command', { exact: true })
  await shown(command, dialog.getByText('Waiting for the node…'))
  const address = dialog.getByLabel('Address of this frontend')
  await address.fill('first; rm -rf /')
  await shown(dialog.getByText('Expected an address such as'))
  await gone(command)
  await address.fill(cluster.frontend.url)
  await shown(dialog.getByText('Other machines cannot reach a loopback address'))
  const [, token = '', joins = ''] = /^FLOTILLA_TOKEN=(\S+) flotilla worker --join (\S+)$/.exec(
    await command.innerText(),
  )!
  expect(joins).toBe(cluster.frontend.url)

  cluster.worker('newcomer', { token })
  await shown(dialog.getByText('newcomer has joined'), dialog.getByText('Pending Approval'))
  await dialog.getByRole('button', { name: 'Approve newcomer' }).click()
  await shown(dialog.getByText('Healthy'))
  await gone(dialog.getByRole('button', { name: 'Approve newcomer' }))
  await dialog.getByRole('button', { name: 'Join another' }).click()
  await shown(dialog.getByText('Waiting for the node…'))
  await page.keyboard.press('Escape')
  await gone(dialog)
  await shown(rowOf(page, 'newcomer').getByText('Healthy'))

  // The token that nobody has used is of no use to anybody.
  await page.getByRole('link', { name: 'Access' }).click()
  await shown(page.getByRole('row', { name: /from the dashboard revoked 0 of 1/ }))
  await shown(page.getByRole('row', { name: /from the dashboard (used up|spent|active|ended) 1 of 1/ }))
  expect(complaints).toEqual([])
})
