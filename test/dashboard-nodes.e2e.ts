import type { Browser, Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { forFile } from './support/at-end.ts'
import { Cluster } from './support/cluster.ts'
import { choose, focused, focusOn, gone, question, shown, startBrowser, toast, visit } from './support/ui/dashboard.ts'
import { until } from './support/until.ts'

const GIB = 2 ** 30

/** Two machines that run models, one of them with a GPU, and one that only takes part. */
let cluster: Cluster
let browser: Browser
beforeAll(() =>
  forFile(async () => {
    ;[cluster, browser] = await Promise.all([Cluster.start('--auto-approve'), startBrowser()])
    const devices = JSON.stringify([{ name: 'Pretended 24', total_vram: 24 * GIB }])
    cluster.worker('bert', { args: ['--max-replicas-per-model', '3', '--node-labels', 'a=1,b=2,c=3,d=4,e=5,tier=x'] })
    cluster.worker('gina', { env: { FLOTILLA_FAKE_DEVICES: devices } })
    cluster.worker('agnes', { args: ['--node-type', 'agent'] })
    for (const name of ['bert', 'gina', 'agnes']) await cluster.isHealthy(name)
    await cluster.keep('m', 2, { 'node.name': 'bert' }, { ttft_ms: 0, tokens_per_s: 4 })
    await cluster.keep('picture', 1, { 'node.name': 'gina' }, { memory_bytes: 8 * GIB })
    const slow = { name: 'slow', engine: 'sim', options: { memory_bytes: 4 * GIB, load_ms: 600_000 } }
    await cluster.ask('POST', '/api/models', slow)
    const rule = { model_name: 'slow', min_replicas: 1, node_selector: { 'node.name': 'gina' } }
    await cluster.ask('POST', '/api/nodes/scheduling', rule)
  }),
)

const rosterRow = (page: Page, name: string) => page.getByRole('row', { name: new RegExp(`^${name} `) })

async function openNode(page: Page, name: string): Promise<void> {
  await page.getByRole('link', { name, exact: true }).click()
  await shown(page.getByRole('heading', { name, level: 1 }))
}

test('the roster shows slots, address, labels, memory and heartbeat, and is searched, filtered and sorted', async () => {
  const { page, complaints } = await visit(browser, cluster.frontend, '/nodes')
  const [bert, gina, agnes] = ['bert', 'gina', 'agnes'].map((name) => rosterRow(page, name)) as [never, never, never]
  const badges = [rosterRow(page, 'bert').getByText('3× slots'), rosterRow(page, 'gina').getByText('1× slots')]
  await shown(...badges)
  expect(await Promise.all(badges.map((badge) => badge.getAttribute('class')))).toEqual([
    expect.stringContaining('accent'),
    expect.stringContaining('outline'),
  ])
  await badges[0]!.hover()
  await shown(page.getByText(/replicas of (one|each|a) model/))
  expect(await rosterRow(page, 'agnes').innerText()).not.toContain('slots')
  expect(await rosterRow(page, 'agnes').innerText()).toContain('agent')

  const labels = page.getByRole('list', { name: 'Labels of bert' }).getByRole('listitem')
  expect(await labels.allInnerTexts()).toEqual(['a=1', 'b=2', 'c=3', 'd=4', 'e=5', '+1 more'])
  expect(await page.content()).not.toContain('node.replica-slots')
  const { address } = (await cluster.node('bert'))!
  await shown(rosterRow(page, 'bert').getByText(address), rosterRow(page, 'bert').getByText(/ago|just now/))
  await shown(rosterRow(page, 'bert').getByText(/^RAM$/), rosterRow(page, 'gina').getByText(/^NVIDIA$/))
  await shown(rosterRow(page, 'bert').getByText('+192 MB reserved'))
  await shown(
    rosterRow(page, 'gina').getByText(/GB \/ 24\.0 GB/),
    rosterRow(page, 'gina').getByText('+4.0 GB reserved'),
  )

  await page.getByRole('searchbox', { name: 'Search nodes' }).fill('TIER=x')
  await shown(page.getByText('1 of 3 nodes'))
  await gone(gina)
  // What was searched stands in the address, so it is still there after a reload.
  await page.reload()
  await shown(page.getByText('1 of 3 nodes'), bert)
  await page.getByRole('searchbox', { name: 'Search nodes' }).fill('')
  await page.getByRole('radio', { name: 'Agent 1' }).click()
  await gone(bert)
  await page.getByRole('radio', { name: 'All 3' }).click()
  await page.getByRole('combobox', { name: 'Label' }).selectOption('tier=x')
  await gone(agnes)
  await page.getByRole('combobox', { name: 'Label' }).selectOption('')
  await page.getByRole('combobox', { name: 'Status' }).selectOption('offline')
  await shown(page.getByText('No node matches.'))
  await page.getByRole('button', { name: 'Show all nodes' }).click()
  await page.getByRole('button', { name: 'Node', exact: true }).click()
  const names = page.getByRole('row').getByRole('link')
  expect(await names.allInnerTexts()).toEqual(['gina', 'bert', 'agnes'])
  expect(complaints).toEqual([])
})

test('with the keyboard alone: the menu of a node opens, moves, closes; its question keeps the focus and can be left', async () => {
  const { page, complaints } = await visit(browser, cluster.frontend, '/nodes')
  const calls: string[] = []
  page.on('request', (request) => request.method() !== 'GET' && calls.push(request.url()))
  await shown(rosterRow(page, 'bert'))
  await page.keyboard.press('Tab')
  expect(await focused(page)).toBe('Skip to the content')
  for (let i = 0; i < 40 && (await focused(page)) !== 'Actions for bert'; i += 1) await page.keyboard.press('Tab')
  await page.keyboard.press('ArrowDown')
  await shown(page.getByRole('menuitem', { name: 'Drain' }))
  await focusOn(page, 'Drain')
  await page.keyboard.press('End')
  await focusOn(page, 'Remove from cluster')
  await page.keyboard.press('Home')
  await focusOn(page, 'Drain')
  await page.keyboard.press('Escape')
  await gone(page.getByRole('menu'))
  await focusOn(page, 'Actions for bert')

  await page.keyboard.press('Enter')
  await focusOn(page, 'Drain')
  await page.keyboard.press('End')
  await focusOn(page, 'Remove from cluster')
  await page.keyboard.press('Enter')
  const sure = question(page, 'Remove bert from the cluster?')
  await shown(sure.getByText('2 replicas will be stopped'))
  await focusOn(page, 'Remove bert')
  const walked: string[] = []
  for (let i = 0; i < 4; i += 1) {
    await page.keyboard.press('Tab')
    // At either end it is led back to the other, which takes a moment.
    await until(async () => (await focused(page)) !== '')
    walked.push(await focused(page))
  }
  expect(new Set(walked)).toEqual(new Set(['Cancel', 'Remove bert']))
  await page.keyboard.press('Escape')
  await gone(sure)
  expect(calls).toEqual([])
  await focusOn(page, 'Actions for bert')
  // A click beside the question is a no as well.
  await choose(page, 'Actions for bert', 'Remove from cluster')
  await shown(sure)
  await page.mouse.click(5, 5)
  await gone(sure)
  expect(calls).toEqual([])
  expect(new URL(page.url()).pathname).toBe('/nodes')
  expect(complaints).toEqual([])
})

test('a node is drained, resumed and removed from its menu, which has only what can be done', async () => {
  const { page, complaints } = await visit(browser, cluster.frontend, '/nodes')
  await choose(page, 'Actions for agnes', 'Drain')
  await shown(toast(page, 'agnes takes no new requests and replicas.'), rosterRow(page, 'agnes').getByText('Draining'))
  await page.getByRole('button', { name: 'Actions for agnes' }).click()
  expect(await page.getByRole('menuitem').allInnerTexts()).toEqual(['Resume', 'Remove from cluster'])
  await page.getByRole('menuitem', { name: 'Resume' }).click()
  await shown(rosterRow(page, 'agnes').getByText('Healthy'))

  await rosterRow(page, 'agnes').getByText('Healthy').click()
  await shown(page.getByText('An agent is a member of the cluster that runs no replicas.'))
  expect(await page.getByRole('heading', { level: 1 }).innerText()).not.toContain('slots')
  await page.goBack()
  await choose(page, 'Actions for agnes', 'Remove from cluster')
  await question(page, /agnes/).getByRole('button', { name: 'Remove agnes' }).click()
  await shown(toast(page, 'agnes is no longer part of the cluster.'))
  await gone(rosterRow(page, 'agnes'))
  expect(complaints).toEqual([])
})

test('a node shows what runs on it, each replica with its number, its log and a way to unload it', async () => {
  const { page, complaints } = await visit(browser, cluster.frontend, '/nodes')
  await rosterRow(page, 'bert').getByText('Healthy').click()
  const { id } = (await cluster.node('bert'))!
  const replicas = page.getByRole('table', { name: 'Replicas on bert' })
  await shown(replicas.getByLabel('replica 0'), replicas.getByLabel('replica 1'))
  const log = replicas.getByRole('link', { name: 'Logs of m, replica 1' })
  expect(await log.getAttribute('href')).toBe(`/logs/${id}/m%231`)

  // One that is asked something is unloaded with a warning only.
  const [zero, one] = (await cluster.ready('m')).toSorted((a, b) => a.replica_index - b.replica_index)
  const chats = [cluster.chat('m'), cluster.chat('m')]
  await shown(replicas.getByRole('row', { name: /replica 0 ready 1/ }))
  await choose(page, 'Actions for m#0', 'Unload this one')
  const sure = question(page, 'Unload m#0 from bert?')
  await shown(sure.getByText('1 request is running.'), sure.getByText('A rule asks for m'))
  expect(await sure.getByRole('button', { name: 'Unload' }).getAttribute('class')).toContain('danger')
  await sure.getByRole('button', { name: 'Cancel' }).click()
  expect((await cluster.ready('m')).map((replica) => replica.id).toSorted()).toEqual([zero!.id, one!.id].toSorted())
  for (const chat of chats) await (await chat).body?.cancel()
  await shown(replicas.getByRole('row', { name: /replica 1 ready 0/ }))
  await choose(page, 'Actions for m#1', 'Unload this one')
  await shown(question(page, 'Unload m#1 from bert?').getByText('No requests are running on it.'))
  await question(page, 'Unload m#1').getByRole('button', { name: 'Unload' }).click()
  await shown(toast(page, /m#1: unload/))
  // Its neighbour stays, and the rule starts another in its place.
  await until(async () => (await cluster.ready('m')).every(({ id: other }) => other !== one!.id))
  expect((await cluster.ready('m')).map((replica) => replica.id)).toContain(zero!.id)
  await shown(replicas.getByRole('row', { name: /replica [12] ready/ }))

  await page.getByRole('link', { name: 'Nodes', exact: true }).click()
  await openNode(page, 'gina')
  await shown(page.getByRole('row', { name: /^picture ready/ }))
  // With a single one its number says nothing.
  expect(await page.getByLabel('replica 0').count()).toBe(0)
  expect(complaints).toEqual([])
})

test('the capacity of a node is edited in place, refused when wrong, questioned when small, and reset', async () => {
  const { page, complaints } = await visit(browser, cluster.frontend, '/nodes', { expected: /status of 500/ })
  const sent: string[] = []
  page.on('request', (request) => request.url().includes('max-replicas') && sent.push(request.method()))
  await openNode(page, 'bert')
  const manage = page.getByRole('button', { name: 'Manage' })
  expect(await manage.getAttribute('aria-expanded')).toBe('false')
  await manage.click()
  await shown(page.getByText('3 replicas per model'), page.getByText('As the worker declares it.'))
  const pencil = page.getByRole('button', { name: 'Edit slots' })
  const input = page.getByRole('spinbutton', { name: 'slots' })
  await pencil.click()
  await focusOn(page, 'slots')
  await input.fill('0')
  await input.press('Enter')
  await shown(toast(page, 'The number of slots must be a whole number from 1 on.'), input)
  await input.fill('7')
  await input.press('Escape')
  await gone(input)
  await focusOn(page, 'Edit slots')
  await pencil.click()
  expect(await input.inputValue()).toBe('3')
  await page.getByRole('button', { name: 'Save' }).click()
  await gone(input)
  expect(sent).toEqual([])

  const path = '**/max-replicas*'
  await page.route(path, (route) => route.fulfill({ status: 500, json: { error: { message: 'The store is away.' } } }))
  await pencil.click()
  await input.fill('4')
  await input.press('Enter')
  await shown(toast(page, 'The store is away.'))
  expect(await input.inputValue()).toBe('4')
  await page.unroute(path)
  await input.press('Escape')
  sent.length = 0

  await pencil.click()
  await input.fill('1')
  await input.press('Enter')
  const sure = question(page, 'Fewer slots than replicas on bert?')
  await shown(sure.getByText('Nothing is evicted'))
  await sure.getByRole('button', { name: 'Cancel' }).click()
  expect(sent).toEqual([])
  await page.getByRole('button', { name: 'Save' }).click()
  await sure.getByRole('button', { name: 'Set 1' }).click()
  await shown(toast(page, 'bert has 1 slot for each model.'), page.getByText('override'))
  await shown(page.getByText('Set by an admin; the worker says 3.'), page.getByText('1× slots'))
  expect((await cluster.ready('m')).length).toBe(2)
  await page.getByRole('button', { name: 'Reset slots' }).click()
  await shown(toast(page, /bert goes by its worker again: 3 slots/), page.getByText('As the worker declares it.'))
  await gone(page.getByRole('button', { name: 'Reset slots' }))
  expect(sent).toHaveLength(2)
  expect(complaints).toEqual([])
})

test('labels are added, overwritten and removed; one call that fails leaves the rest of the page', async () => {
  const { page, complaints } = await visit(browser, cluster.frontend, '/nodes', { expected: /status of (400|500)/ })
  let engineCalls = 0
  await page.route('**/api/nodes/*/backends', (route) => {
    engineCalls += 1
    const error = { message: 'The node is asleep.' }
    return engineCalls === 1 ? route.fulfill({ status: 500, json: { error } }) : route.continue()
  })
  await openNode(page, 'gina')
  expect(engineCalls).toBe(0)
  await page.getByRole('button', { name: 'Manage' }).click()
  await shown(page.getByText('The node is asleep.'), page.getByRole('row', { name: /^picture ready/ }))
  await page.getByRole('button', { name: 'Try again' }).click()
  await shown(page.getByRole('row', { name: /^sim/ }))

  const labels = page.getByRole('group', { name: 'Labels' })
  const [key, value] = [labels.getByLabel('Labels: key'), labels.getByLabel('Labels: value')]
  const add = labels.getByRole('button', { name: 'Add' })
  await value.fill('lonely')
  expect(await add.isDisabled()).toBe(true)
  await key.fill('  zone ')
  await value.fill(' north ')
  await value.press('Enter')
  await shown(toast(page, 'The labels of gina are changed.'), labels.getByText('zone=north'))
  expect([await key.inputValue(), await value.inputValue()]).toEqual(['', ''])
  await key.fill('zone')
  await value.fill('south')
  await add.click()
  await shown(labels.getByText('zone=south'))
  await key.fill('spare')
  await key.press('Enter')
  await shown(labels.getByText('spare=', { exact: true }))
  await key.fill('node.replica-slots')
  await add.click()
  await shown(toast(page, /shows the number of slots/))
  // Those of others stay: they would come back at once.
  expect(await labels.getByRole('button', { name: 'Remove node.name' }).count()).toBe(0)
  await labels.getByRole('button', { name: 'Remove spare' }).click()
  await gone(labels.getByText('spare=', { exact: true }))
  await labels.getByRole('button', { name: 'Remove zone' }).click()
  await gone(labels.getByText('zone=south'))
  expect((await cluster.node('gina'))!.labels).not.toHaveProperty('zone')
  expect(complaints).toEqual([])
})
