import type { Browser, Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { forFile } from './support/at-end.ts'
import { Cluster } from './support/cluster.ts'
import { barriers, shown, startBrowser, visit, type Visit } from './support/ui/dashboard.ts'
import { until } from './support/until.ts'

/** A cluster in which there is something of everything to see: what serves, loads, has failed, is drained and waits. */
let cluster: Cluster
let browser: Browser
/** One for all of it: with a new one for each page most of the time would go into reading the same scripts again. */
let looking: Visit
let ada = ''
beforeAll(() =>
  forFile(async () => {
    ;[cluster, browser] = await Promise.all([Cluster.start(), startBrowser()])
    cluster.worker('ada', { args: ['--max-replicas-per-model', '3', '--node-labels', 'tier=fast,zone=a'] })
    const devices = JSON.stringify([{ name: 'Pretended 24', total_vram: 24 * 2 ** 30 }])
    cluster.worker('bert', { env: { FLOTILLA_FAKE_DEVICES: devices } })
    cluster.worker('carl')
    for (const name of ['ada', 'bert', 'carl']) await cluster.has(name, 'pending')
    for (const name of ['ada', 'bert']) {
      await cluster.ask('POST', `/api/nodes/${(await cluster.node(name))!.id}/approve`)
      await cluster.isHealthy(name)
    }
    ada = (await cluster.node('ada'))!.id
    await cluster.keep('llama', 2, { zone: 'a' }, { ttft_ms: 0, tokens_per_s: 0 })
    const add = async (name: string, engine: string, options: object, rule: object): Promise<unknown> => {
      await cluster.ask('POST', '/api/models', { name, engine, options })
      return cluster.ask('POST', '/api/nodes/scheduling', { model_name: name, min_replicas: 1, ...rule })
    }
    await add('slow', 'sim', { load_ms: 600_000, memory_bytes: 2 ** 30 }, { node_selector: { 'node.name': 'bert' } })
    await add('broken', 'command', { command: 'exit 3' }, { node_selector: { zone: 'a' } })
    await add('picky', 'sim', {}, { node_selector: { tier: 'gold' } })
    await until(async () => JSON.stringify(await cluster.ask('GET', '/api/replicas')).includes('"failed"'))
    await cluster.ask('POST', `/api/nodes/${(await cluster.node('bert'))!.id}/drain`)
    await cluster.ask('POST', '/api/keys', { name: 'robot', scopes: ['inference'] })
    looking = await visit(browser, cluster.frontend, '/', { colorScheme: 'light' })
  }),
)

interface Sight {
  path: () => string
  /** What is there when the page is complete. */
  ready: (page: Page) => Promise<unknown>
}

const heading = (name: string | RegExp) => (page: Page) => shown(page.getByRole('heading', { name, level: 1 }))

const sights: Record<string, Sight> = {
  fleet: { path: () => '/', ready: (page) => shown(page.getByLabel('llama replica 1: ready')) },
  nodes: { path: () => '/nodes', ready: (page) => shown(page.getByText('Pending Approval', { exact: true })) },
  'a node': {
    path: () => `/nodes/${ada}`,
    async ready(page) {
      await page.getByRole('button', { name: 'Manage' }).click()
      await shown(page.getByLabel('replica 1'), page.getByRole('button', { name: /^Install .* on ada/ }))
    },
  },
  'the dialog to join': {
    path: () => '/nodes',
    async ready(page) {
      await page.getByRole('button', { name: 'Join a node' }).first().click()
      await shown(page.getByText('Waiting for the node…'))
    },
  },
  'a question': {
    path: () => '/nodes',
    async ready(page) {
      await page.getByRole('button', { name: 'Actions for ada' }).click()
      await page.getByRole('menuitem', { name: 'Remove from cluster' }).click()
      await shown(page.getByRole('alertdialog'))
    },
  },
  models: { path: () => '/models', ready: (page) => shown(page.getByText('not placed')) },
  'a model': { path: () => '/models/llama', ready: heading(/^llama/) },
  'a model that failed': { path: () => '/models/broken', ready: heading(/^broken/) },
  'the form of a model': {
    path: () => '/add-model?name=llama',
    ready: (page) => shown(page.getByText('There is a model of this name already.')),
  },
  rules: {
    path: () => '/rules?model=llama',
    ready: (page) => shown(page.getByText(/^Unsatisfiable until/), page.getByText('1 of 3 nodes matches:')),
  },
  why: { path: () => '/why', ready: (page) => shown(page.getByText('model.saved')) },
  'why a model': {
    path: () => '/why/models/picky',
    ready: (page) => shown(page.getByText('No node can take one more.')),
  },
  logs: {
    path: () => `/logs/${ada}/llama`,
    ready: (page) => shown(page.getByText('merged · 2 replicas'), page.getByText('llama#1')),
  },
  playground: {
    path: () => '/playground?model=llama',
    async ready(page) {
      await page.getByLabel('Message').fill('Hello')
      await page.getByRole('button', { name: 'Send' }).click()
      await shown(page.getByText(/ada · replica/))
      await page.getByRole('button', { name: 'Settings' }).click()
    },
  },
  access: { path: () => '/access', ready: (page) => shown(page.getByText('robot')) },
}

test.each(Object.entries(sights))(
  '%s: nothing keeps anybody from using it, light on a desk or dark on a phone, and the browser complains of nothing',
  async (_, { path, ready }) => {
    const { page, complaints } = looking
    await page.setViewportSize({ width: 1440, height: 900 })
    await page.goto(path())
    await ready(page)
    expect(await barriers(page)).toEqual([])
    // As the button for the colours does, which nobody can press while a dialog is open.
    await page.evaluate(`document.documentElement.dataset.theme = 'dark'`)
    await page.setViewportSize({ width: 390, height: 844 })
    // What is laid out in another way on a phone is drawn anew with the next frame.
    await page.evaluate(`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))`)
    expect(await barriers(page)).toEqual([])
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390)
    expect(complaints.splice(0)).toEqual([])
  },
)

test('signing in can be done by everybody, and the colours that were chosen stay', async () => {
  const { page, complaints } = await visit(browser, cluster.frontend, '/', { isSignedIn: false, colorScheme: 'dark' })
  await shown(page.getByLabel('Admin key'))
  expect(await barriers(page)).toEqual([])
  await page.getByRole('link', { name: 'Open the playground' }).click()
  await page.getByRole('button', { name: 'Use the light colours' }).click()
  await page.reload()
  await shown(page.getByRole('button', { name: 'Use the dark colours' }))
  expect(await page.locator('html').getAttribute('data-theme')).toBe('light')
  expect(complaints).toEqual([])
})
