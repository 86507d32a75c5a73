import { readFile } from 'node:fs/promises'
import type { Browser, Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import type { LogLine, ReplicaView } from '../src/api/admin/schemas.ts'
import { forFile } from './support/at-end.ts'
import { Cluster } from './support/cluster.ts'
import { gone, shown, startBrowser, visit } from './support/ui/dashboard.ts'
import { until } from './support/until.ts'

/** An engine that does nothing but serve a port and count aloud, on both of its streams. */
const COUNTING = `
  let i = 0
  const { FLOTILLA_PORT: port } = process.env
  require('node:http').createServer((_, response) => response.end('{}')).listen(Number(port), '127.0.0.1')
  setInterval(() => (i += 1) % 5 ? console.log('count ' + i) : console.error('fifth ' + i), 100)`

let cluster: Cluster
let browser: Browser
beforeAll(() =>
  forFile(async () => {
    ;[cluster, browser] = await Promise.all([Cluster.start('--auto-approve'), startBrowser()])
    cluster.worker('ada', { args: ['--max-replicas-per-model', '2'] })
    cluster.worker('bert')
    cluster.worker('carl')
    for (const name of ['ada', 'bert', 'carl']) await cluster.isHealthy(name)
    await cluster.keep('chat', 1, { 'node.name': 'bert' }, { ttft_ms: 0, tokens_per_s: 200 })
    const command = `exec '${process.execPath}' -e '${COUNTING.replaceAll("'", `'\\''`)}'`
    await cluster.ask('POST', '/api/models', { name: 'counter', engine: 'command', options: { command } })
    const rule = { model_name: 'counter', min_replicas: 2, node_selector: { 'node.name': 'ada' } }
    await cluster.ask('POST', '/api/nodes/scheduling', rule)
    await until(async () => (await cluster.ready('counter')).length === 2)
  }),
)

async function say(page: Page, text: string): Promise<void> {
  await page.getByLabel('Message').fill(text)
  await page.getByRole('button', { name: 'Send' }).click()
}

const numberIn = (text: string): number => Number(/\d+$/.exec(text)?.[0])

/** How far an engine has counted by now. */
async function newestInLog(nodeId: string, key: string): Promise<number> {
  const path = `/api/nodes/${nodeId}/backend-logs/${encodeURIComponent(key)}?limit=1`
  const { lines } = await cluster.ask<{ lines: LogLine[] }>('GET', path)
  return numberIn(lines.at(-1)?.text ?? '')
}

/** Lets a simulated engine be ready now; its log says where it listens. */
async function finishLoading(model: string): Promise<void> {
  const replica = (await cluster.ask<ReplicaView[]>('GET', '/api/replicas')).find((one) => one.model_name === model)
  const path = `/api/nodes/${replica!.node_id}/backend-logs/${model}`
  const { lines } = await cluster.ask<{ lines: LogLine[] }>('GET', path)
  const [url] = /http:\/\/\S+/.exec(lines.map(({ text }) => text).join('\n'))!
  await fetch(`${url}/sim/load`, { method: 'POST' })
}

async function exportedLines(page: Page): Promise<LogLine[]> {
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Export' }).click(),
  ])
  return JSON.parse(await readFile(await download.path(), 'utf8')) as LogLine[]
}

test('the playground streams an answer, says who gave it and how fast, and why it went there', async () => {
  const { page, complaints } = await visit(browser, cluster.frontend, '/playground?model=chat')
  const asked = page.waitForRequest('**/v1/chat/completions')
  const talk = page.getByRole('log', { name: 'Conversation' })
  await shown(talk.getByText('Ask chat something.'))
  expect(await page.getByRole('button', { name: 'Send' }).isDisabled()).toBe(true)
  await page.getByLabel('Message').fill("What's a slot?")
  await page.getByRole('button', { name: 'Use it from your programs' }).click()
  await shown(page.getByLabel('Command', { exact: true }).getByText(String.raw`What'\''s a slot?`))
  await page.getByLabel('Message').press('Enter')
  await shown(talk.getByText("What's a slot?"), talk.getByText(/Flotilla/))
  await shown(talk.getByText('bert · replica 0'), talk.getByText(/^first token \d/), talk.getByText(/tokens\/s$/))
  expect(await (await asked).allHeaders()).not.toHaveProperty('cookie')
  await talk.getByRole('link', { name: 'why there' }).click()
  await shown(page.getByRole('heading', { name: /^Request / }))
  await shown(page.getByText(/^bert, replica /), page.getByText('served'), page.getByText(/^Candidates \(1\)/))
  // From there on to the model.
  await page.getByRole('link', { name: 'Model chat' }).click()
  await shown(page.getByRole('heading', { name: 'Why chat' }))
  expect(complaints).toEqual([])
})

test('where a key is needed the playground asks with one of the session, which ends with it', async () => {
  const { page } = await visit(browser, cluster.frontend, '/playground?model=chat')
  const seen: Record<string, string>[] = []
  await page.route('**/v1/chat/completions', async (route) => {
    const headers = await route.request().allHeaders()
    seen.push(headers)
    if (headers['authorization'] !== undefined) return route.continue()
    await route.fulfill({ status: 401, json: { error: { message: 'This needs a key.' } } })
  })
  await say(page, 'Who are you?')
  await shown(page.getByRole('log', { name: 'Conversation' }).getByText(/tokens$/))
  const key = seen.at(-1)!['authorization']!
  expect(key).toMatch(/^Bearer fk_/)
  const models = () => fetch(`${cluster.frontend.url}/v1/models`, { headers: { authorization: key } })
  expect((await models()).status).toBe(200)
  await page.getByRole('button', { name: /^Sign out/ }).click()
  await until(async () => (await models()).status === 401)
})

test('a model that is not loaded says how far it is and then answers by itself; one can stop; anybody here may ask', async () => {
  await cluster.ask('POST', '/api/models', {
    name: 'cold',
    engine: 'sim',
    options: { load_ms: 600_000, tokens_per_s: 5 },
  })
  const { page, complaints } = await visit(browser, cluster.frontend, '/playground', { isSignedIn: false })
  await page.getByRole('combobox', { name: 'Model' }).selectOption('cold')
  await say(page, 'Are you there?')
  const talk = page.getByRole('log', { name: 'Conversation' })
  await shown(talk.getByRole('status').getByText(/cold: .* on (ada|bert|carl)/))
  await finishLoading('cold')
  await shown(talk.getByText(/Flotilla/))
  await gone(talk.getByRole('status'))
  await page.getByRole('button', { name: 'Stop' }).click()
  await shown(talk.getByText('Stopped.'))
  await until(async () => (await cluster.ready('cold')).every(({ in_flight: count }) => count === 0))

  await page.getByRole('combobox', { name: 'Model' }).selectOption('chat')
  await say(page, 'Then you?')
  await shown(talk.getByText(/tokens$/))
  await page.getByRole('button', { name: 'Start anew' }).click()
  await gone(talk.getByText('Then you?'))
  // The rest of the dashboard is for those who sign in.
  await page.getByRole('link', { name: 'Fleet' }).click()
  await shown(page.getByLabel('Admin key'))
  expect(complaints).toEqual([])
})

test('logs: one replica or all merged, filtered, searched, paused and exported', async () => {
  const { id } = (await cluster.node('ada'))!
  const { page, complaints } = await visit(browser, cluster.frontend, `/nodes/${id}`)
  await page.getByRole('link', { name: 'Logs of counter, replica 1' }).click()
  await shown(page.getByRole('heading', { name: 'counter replica 1' }), page.getByRole('status').getByText('Live'))
  const lines = page.getByRole('log', { name: 'Log lines' })
  await shown(lines.getByText(/^count \d+$/), lines.getByText(/^\d\d:\d\d:\d\d\.\d{3}$/), lines.getByText('stderr'))
  await gone(lines.getByText('counter#1'))

  // The end is followed, until somebody pauses or looks elsewhere.
  const lastCount = async (): Promise<number> =>
    Math.max(...(await lines.getByText(/^count \d+$/).allInnerTexts()).map(numberIn))
  const follow = page.getByLabel('Follow')
  expect(await follow.isChecked()).toBe(true)
  const seen = await lastCount()
  await until(async () => (await lastCount()) > seen + 5)
  await page.getByRole('button', { name: 'Pause' }).click()
  await shown(page.getByRole('status').getByText('Paused'))
  const atPause = await lastCount()
  await until(async () => (await newestInLog(id, 'counter#1')) > atPause + 5)
  expect(await lastCount()).toBe(atPause)
  await page.getByRole('button', { name: 'Go on' }).click()
  await until(async () => (await lastCount()) > atPause + 5)
  await follow.uncheck()
  await lines.press('Home')
  await shown(lines.getByText('count 1', { exact: true }))
  await until(async () => (await newestInLog(id, 'counter#1')) > atPause + 10)
  await shown(lines.getByText('count 1', { exact: true }))

  const which = page.getByRole('radiogroup', { name: 'Which replica' })
  expect(await which.innerText()).toMatch(/Replica 0\s+Replica 1\s+All merged/)
  await which.getByRole('radio', { name: 'All merged' }).click()
  expect(new URL(page.url()).pathname).toBe(`/logs/${id}/counter`)
  await shown(page.getByText('merged · 2 replicas'), lines.getByText('counter#0'), lines.getByText('counter#1'))
  await which.getByRole('radio', { name: 'Replica 0' }).click()
  expect(new URL(page.url()).pathname).toBe(`/logs/${id}/counter%230`)

  await page.getByRole('radio', { name: 'stderr' }).click()
  await gone(lines.getByText(/^count \d+$/))
  await shown(lines.getByText(/^fifth \d+$/))
  await page.getByRole('radio', { name: 'All', exact: true }).click()
  await page.getByRole('searchbox', { name: 'Search the log' }).fill('COUNT 3')
  await shown(lines.getByText('count 3', { exact: true }))
  await gone(lines.getByText('fifth 5', { exact: true }))
  await page.getByRole('searchbox', { name: 'Search the log' }).fill('nothing has this')
  await shown(page.getByText(/^None of the \d+ lines matches/))
  expect(await page.getByRole('button', { name: 'Export' }).isDisabled()).toBe(true)
  await page.getByRole('searchbox', { name: 'Search the log' }).fill('count 3')
  await page.getByLabel('Text only').check()
  await gone(lines.getByText('stdout'))

  const exported = await exportedLines(page)
  expect(exported.length).toBeGreaterThan(0)
  expect(exported.every(({ text }) => text.includes('count 3'))).toBe(true)
  expect(complaints).toEqual([])
})

test('why: a model and a node are explained as a tree with numbers, with what happened below it', async () => {
  const { page, complaints } = await visit(browser, cluster.frontend, '/why')
  const asked = page.getByRole('combobox', { name: 'Model, node or request' })
  const explain = page.getByRole('button', { name: 'Explain' })
  expect(await explain.isDisabled()).toBe(true)
  await asked.fill('counter')
  await asked.press('Enter')
  await explain.click()
  await shown(page.getByRole('heading', { name: 'Why counter' }), page.getByText('Its rule asks for at least 2'))
  const where = page.getByRole('button', { name: 'Reasons: Where it is' })
  await shown(
    page.getByRole('link', { name: /^counter#1 · \d+ in flight/ }),
    page.getByRole('listitem').filter({ hasText: /bert.*needs the label node\.name=ada/ }),
  )
  await where.click()
  expect(await where.getAttribute('aria-expanded')).toBe('false')
  await gone(page.getByRole('link', { name: /^counter#1 ·/ }))
  await shown(page.getByText('replica.placed').first(), page.getByText('rule.saved'))

  // It goes on by itself.
  await cluster.ask('POST', '/api/nodes/scheduling', { model_name: 'counter', min_replicas: 1 })
  await shown(page.getByText('Its rule asks for at least 1'))
  await page.goto('/why')
  await asked.fill('bert')
  await asked.press('Escape')
  await explain.click()
  await shown(page.getByRole('heading', { name: 'Why bert' }), page.getByText(/^RAM: .* free of/))
  await shown(page.getByText(/^Models that it would take/), page.getByText('node.registered'))
  expect(complaints).toEqual([])
})

// The last one: the frontend that it starts ends with it.
test('the frontend is restarted under open pages: they say so, come back by themselves, and no line of a log is missing', async () => {
  const { id } = (await cluster.node('ada'))!
  const expected = /ERR_|status of 503/
  const fleet = await visit(browser, cluster.frontend, '/', { expected })
  const { page, complaints } = await visit(browser, cluster.frontend, `/logs/${id}/counter%230`, { expected })
  await shown(page.getByRole('log', { name: 'Log lines' }).getByText(/^count \d+$/), fleet.page.getByText(/3 healthy/))
  await cluster.frontend.signal('SIGKILL')
  await shown(page.getByText('Reconnecting…'), fleet.page.getByText('The frontend does not answer.'))
  // What was known is still there to be read.
  await shown(fleet.page.getByLabel('counter replica 0: ready'), page.getByText(/^count \d+$/))
  await cluster.restart()
  await gone(fleet.page.getByText('The frontend does not answer.'))
  await cluster.ask('POST', '/api/models', { name: 'afterwards', engine: 'sim', options: {} })
  await fleet.page.getByRole('link', { name: 'Models' }).click()
  await shown(fleet.page.getByRole('link', { name: 'afterwards' }), page.getByRole('status').getByText('Live'))

  await page.getByRole('button', { name: 'Pause' }).click()
  const numbers = (await exportedLines(page)).map(({ text }) => numberIn(text))
  // Two streams are read at once, so neighbours may have changed places.
  expect(numbers.toSorted((a, b) => a - b)).toEqual(Array.from(numbers, (_, i) => Math.min(...numbers) + i))
  expect([...complaints, ...fleet.complaints]).toEqual([])
})
