import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, Locator, Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { forFile } from './support/at-end.ts'
import { Cluster } from './support/cluster.ts'
import { gone, question, rowOf, shown, startBrowser, toast, visit } from './support/ui/dashboard.ts'
import type { WorkerProcess } from './support/flotilla.ts'
import { tempFolder } from './support/temp-folder.ts'
import { until } from './support/until.ts'

/** Three machines that nobody has let in yet. The tests build on one another: each leaves fewer troubles, or fewer nodes. */
let cluster: Cluster
let browser: Browser
let workers: Record<string, WorkerProcess>
beforeAll(() =>
  forFile(async () => {
    ;[cluster, browser] = await Promise.all([Cluster.start(), startBrowser()])
    const names = ['ada', 'bert', 'carl']
    const start = (name: string) => cluster.worker(name, { args: ['--max-replicas-per-model', '2'] })
    workers = Object.fromEntries(names.map((name) => [name, start(name)]))
    for (const name of names) await cluster.has(name, 'pending')
  }),
)

/** What needs attention and says this. */
function trouble(page: Page, text: string | RegExp): Locator {
  return page.getByRole('list', { name: 'Needs attention' }).getByRole('listitem').filter({ hasText: text })
}

test('machines that wait are let in, one from the fleet and the others together', async () => {
  const { page, complaints } = await visit(browser, cluster.frontend, '/')
  await shown(page.getByRole('heading', { name: 'Needs attention (3)' }), page.getByText('3 nodes · 0 healthy'))
  await trouble(page, 'ada waits for approval').getByRole('button', { name: 'Approve' }).click()
  await shown(toast(page, 'ada is approved.'), page.getByRole('heading', { name: 'Needs attention (2)' }))
  await shown(page.getByText('3 nodes · 1 healthy'))
  await page.getByRole('link', { name: 'Nodes' }).click()
  await shown(page.getByText('2 nodes wait for approval: bert, carl'))
  await page.getByRole('button', { name: 'Approve all' }).click()
  await question(page, 'Approve 2 nodes?').getByRole('button', { name: 'Approve all' }).click()
  await shown(toast(page, '2 nodes are approved.'))
  await shown(rowOf(page, 'bert').getByText('Healthy'), rowOf(page, 'carl').getByText('Healthy'))
  await gone(page.getByRole('button', { name: /^Approve/ }))
  expect(complaints).toEqual([])
})

test('the fleet shows every slot, what fills it and how busy it is', async () => {
  await cluster.keep('mercury', 2, { 'node.name': 'ada' }, { ttft_ms: 0, tokens_per_s: 4 })
  const { page, complaints } = await visit(browser, cluster.frontend, '/')
  const card = page.getByRole('listitem').filter({ has: page.getByRole('link', { name: 'ada', exact: true }) })
  await shown(card.getByLabel('mercury replica 0: ready'), card.getByLabel('mercury replica 1: ready'))
  await shown(card.getByRole('meter', { name: /^RAM: .* in use/ }), card.getByText('0 in flight'))
  const chats = [cluster.chat('mercury'), cluster.chat('mercury'), cluster.chat('mercury')]
  await shown(card.getByText('3 in flight'), card.getByLabel(/^mercury replica \d: ready, 2 in flight/))
  for (const chat of chats) await (await chat).body?.cancel()
  await shown(card.getByText('0 in flight'))

  const slow = { name: 'slow', engine: 'sim', options: { load_ms: 600_000 } }
  await cluster.ask('POST', '/api/models', slow)
  const rule = { model_name: 'slow', min_replicas: 1, node_selector: { 'node.name': 'ada' } }
  await cluster.ask('POST', '/api/nodes/scheduling', rule)
  await shown(card.getByLabel(/^slow replica 0: loading/), card.getByLabel('free slot'))
  await cluster.ask('DELETE', '/api/nodes/scheduling/slow')
  await cluster.ask('DELETE', '/api/models/slow')
  await gone(card.getByLabel(/^slow replica 0/))

  await page.getByRole('searchbox', { name: /^Find nodes/ }).fill('mercury carl')
  await shown(page.getByText('No node matches “mercury carl”.'))
  await page.getByRole('searchbox', { name: /^Find nodes/ }).fill('mercury')
  await gone(page.getByRole('link', { name: 'carl', exact: true }))
  await page.getByRole('radio', { name: 'Tiles' }).click()
  await shown(page.getByRole('link', { name: /^ada ?: healthy$/ }), page.getByLabel('mercury replica 1: ready'))
  expect(complaints).toEqual([])
})

test('a load that failed is told with its reason, its log stays readable, and it is tried again with one click', async () => {
  const flag = join(tempFolder(), 'weights')
  const serve = `exec '${process.execPath}' -e 'require("http").createServer().listen(+process.env.FLOTILLA_PORT, "127.0.0.1")'`
  const command = `test -e ${flag} && ${serve}; echo "I cannot find my weights" >&2; exit 3`
  await cluster.ask('POST', '/api/models', { name: 'broken', engine: 'command', options: { command } })
  const rule = { model_name: 'broken', min_replicas: 1, node_selector: { 'node.name': 'bert' } }
  await cluster.ask('POST', '/api/nodes/scheduling', rule)
  // It may be tried again by itself in the moment of the click; both are told in the same place.
  const expected = /status of (404|409).*\/restart$/
  const { page, complaints } = await visit(browser, cluster.frontend, '/', { expected })
  const failed = trouble(page, /broken#\d failed/)
  await failed.getByRole('link', { name: 'Logs' }).first().click()
  const lines = page.getByRole('log', { name: 'Log lines' })
  await shown(lines.getByText('I cannot find my weights'), lines.getByText('stderr'))
  await page.getByRole('link', { name: 'bert' }).click()
  await shown(page.getByRole('row', { name: /exited with code 3.*I cannot find my weights/ }))
  await page.getByRole('link', { name: 'Fleet' }).click()
  const restart = '**/api/replicas/*/restart'
  const again = failed.getByRole('button', { name: 'Try again now' }).first()
  await page.route(restart, (route) => route.fulfill({ status: 404, json: { error: {} } }))
  await again.click()
  await shown(toast(page, /broken#\d on bert is being tried again already/))
  await page.unroute(restart)
  // It is mended in the moment of the click: before, it would be tried again by itself in time.
  await page.route(restart, (route) => {
    writeFileSync(flag, '')
    return route.continue()
  })
  await again.click()
  await shown(toast(page, /broken#\d on bert (has stopped|is )/))
  await gone(failed.first())
  await until(async () => (await cluster.ready('broken')).length === 1)
  expect(complaints).toEqual([])
})

test('a rule that cannot be met says why and what would help, and is changed where it is told', async () => {
  await cluster.ask('POST', '/api/models', { name: 'picky', engine: 'sim', options: {} })
  const rule = { model_name: 'picky', min_replicas: 1, node_selector: { tier: 'gold' } }
  await cluster.ask('POST', '/api/nodes/scheduling', rule)
  const { page, complaints } = await visit(browser, cluster.frontend, '/')
  const unmet = trouble(page, 'picky 0 of 1 replicas serve')
  await shown(unmet.getByText(/^What would help: label .* tier=gold/))
  await unmet.getByRole('link', { name: 'Why' }).click()
  await shown(
    page.getByText('No node can take one more.'),
    page.getByRole('listitem').filter({ hasText: /carl.*needs the label tier=gold/ }),
  )
  await page.goBack()
  await unmet.getByRole('link', { name: 'Change the rule' }).click()
  const form = page.getByRole('form', { name: 'Edit the rule' })
  await form.getByRole('button', { name: 'Remove tier' }).click()
  await form.getByRole('button', { name: 'Save the rule' }).click()
  await shown(rowOf(page, 'picky').getByText('OK'))
  await page.getByRole('link', { name: 'Fleet' }).click()
  await gone(unmet)
  expect(complaints).toEqual([])
})

test('a node that dies while somebody looks at it is shown as gone, what it ran is replaced, and it can be removed', async () => {
  await cluster.ask('POST', '/api/models', { name: 'spare', engine: 'sim', options: {} })
  const rule = { model_name: 'spare', min_replicas: 1, node_selector: { 'node.name': ['carl', 'bert'] } }
  await cluster.ask('POST', '/api/nodes/scheduling', rule)
  await until(async () => (await cluster.ready('spare')).length === 1)
  const [place = ''] = await cluster.places('spare')
  const other = place === 'carl' ? 'bert' : 'carl'
  const { id } = (await cluster.node(place))!
  const { page, complaints } = await visit(browser, cluster.frontend, `/nodes/${id}`)
  await shown(page.getByRole('row', { name: /^spare ready/ }))
  await workers[place]!.signal('SIGKILL')
  await shown(
    page.getByRole('heading', { level: 1 }).getByText('Offline'),
    page.getByText(`${place} is offline; it was last heard`),
  )
  await shown(page.getByRole('heading', { name: 'Memory and disk, as last heard' }))
  await until(async () => (await cluster.places('spare')).join() === other)
  await page.getByRole('link', { name: 'Fleet' }).click()
  const silent = trouble(page, `${place} offline`)
  await silent.getByRole('link', { name: 'Why' }).click()
  await shown(page.getByRole('heading', { name: `Why ${place}` }), page.getByText('offline').first())
  await page.goBack()
  await silent.getByRole('button', { name: 'Remove' }).click()
  await question(page, `Remove ${place}?`).getByRole('button', { name: 'Remove' }).click()
  await shown(toast(page, `${place} is no longer part of the cluster.`), page.getByText('2 nodes · 2 healthy'))
  await gone(silent)
  workers = Object.fromEntries(Object.entries(workers).filter(([name]) => name !== place))
  expect(complaints).toEqual([])
})

test('when most nodes fall silent at once that is told as one thing, and giving them up is asked', async () => {
  const { page, complaints } = await visit(browser, cluster.frontend, '/')
  await shown(page.getByText('2 nodes · 2 healthy'))
  await Promise.all(Object.values(workers).map((worker) => worker.signal('SIGKILL')))
  const frozen = trouble(page, '2 nodes went silent together')
  await frozen.getByRole('button', { name: 'They are lost: replace them' }).click()
  const sure = question(page, 'Give the silent nodes up?')
  await sure.getByRole('button', { name: 'Cancel' }).click()
  await gone(sure)
  await shown(frozen)
  await frozen.getByRole('button', { name: 'They are lost: replace them' }).click()
  await sure.getByRole('button', { name: 'Give them up' }).click()
  await shown(toast(page, /^Given up: /))
  await gone(frozen)
  expect(complaints).toEqual([])
})
