import type { Browser, Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import type { RuleView } from '../src/api/admin/rule-schemas.ts'
import { forFile } from './support/at-end.ts'
import { Cluster } from './support/cluster.ts'
import { startFrontend } from './support/flotilla.ts'
import { focusOn, gone, question, shown, startBrowser, toast, visit } from './support/ui/dashboard.ts'
import { until } from './support/until.ts'

const FAST = { ttft_ms: 0, tokens_per_s: 0 }

/** Three machines, two of them of a kind, and two models that nobody has a rule for. */
let cluster: Cluster
let browser: Browser
beforeAll(() =>
  forFile(async () => {
    ;[cluster, browser] = await Promise.all([Cluster.start('--auto-approve'), startBrowser()])
    cluster.worker('ada')
    cluster.worker('bert', { args: ['--node-labels', 'tier=fast', '--max-replicas-per-model', '2'] })
    cluster.worker('carl', { args: ['--node-labels', 'tier=fast', '--max-replicas-per-model', '2'] })
    for (const name of ['ada', 'bert', 'carl']) await cluster.isHealthy(name)
    for (const name of ['llama', 'qwen']) {
      await cluster.ask('POST', '/api/models', { name, engine: 'sim', options: FAST })
    }
  }),
)

const ruleRow = (page: Page, model: string) => page.getByRole('row', { name: new RegExp(`^${model} `) })
const usual = (page: Page, of: 'Min' | 'Max', name: string) =>
  page.getByRole('group', { name: `${of} replicas: usual numbers` }).getByRole('button', { name, exact: true })

/** What the page sends when the rule is saved. */
async function savedBody(page: Page): Promise<unknown> {
  const [request] = await Promise.all([
    page.waitForRequest((one) => one.method() === 'POST' && one.url().includes('/api/nodes/scheduling')),
    page.getByRole('button', { name: 'Save the rule' }).click(),
  ])
  return request.postDataJSON()
}

test('the form of a rule says what is missing, what would follow, and sends only what its mode means', async () => {
  const { page, complaints } = await visit(browser, cluster.frontend, '/rules')
  await shown(page.getByText('There are no rules.'))
  const open = page.getByRole('button', { name: 'Add a rule' })
  await open.click()
  const form = page.getByRole('form', { name: 'Add a rule' })
  const [save, says] = [form.getByRole('button', { name: 'Save the rule' }), form.getByRole('status')]
  await shown(says.getByText('Name the model that the rule is for.'))
  expect(await save.isDisabled()).toBe(true)

  // A name is found by typing, moved to with arrows and taken with Enter; any other counts as it is typed.
  const model = form.getByRole('combobox', { name: 'Model' })
  await model.fill('unborn')
  await shown(page.getByText('No model of that name yet: the rule waits for it.'))
  await model.press('Escape')
  await shown(form.getByText('There is no model “unborn” yet: the rule waits for it.'))
  await model.fill('q')
  await shown(page.getByRole('option', { name: 'qwen' }))
  await page.mouse.click(720, 12)
  await gone(page.getByRole('listbox'))
  await model.fill('l')
  await shown(page.getByRole('option', { name: 'llama' }))
  await model.press('ArrowDown')
  await model.press('ArrowUp')
  await model.press('Enter')
  await gone(page.getByRole('listbox'))
  expect(await model.inputValue()).toBe('llama')

  const mode = form.getByRole('radiogroup', { name: 'Mode' })
  await shown(form.getByText('Keeps the minimum running'))
  await mode.getByRole('radio', { name: 'Pin to nodes' }).click()
  await shown(form.getByText('Only nodes that match may run it.'))
  await shown(says.getByText('Add at least one label that nodes must have.'))
  const selector = form.getByRole('group', { name: 'Node selector' })
  await selector.getByLabel('Node selector: key').fill('tier')
  await selector.getByLabel('Node selector: value').fill('slow')
  await selector.getByLabel('Node selector: value').press('Enter')
  await shown(form.getByText('No node matches: the rule would wait for one that does.'))
  await selector.getByLabel('Node selector: key').fill('tier')
  await selector.getByLabel('Node selector: value').fill('fast')
  await selector.getByRole('button', { name: 'Add' }).click()
  await shown(selector.getByText('tier=fast'), form.getByText('2 of 3 nodes match:'))
  await mode.getByRole('radio', { name: 'Auto-scale' }).press('Space')

  const [min, max] = [
    form.getByLabel('Min replicas', { exact: true }),
    form.getByLabel('Max replicas', { exact: true }),
  ]
  await usual(page, 'Min', '3').click()
  expect(await min.inputValue()).toBe('3')
  expect(await usual(page, 'Min', '3').getAttribute('aria-pressed')).toBe('true')
  expect(await usual(page, 'Min', '1').getAttribute('aria-pressed')).toBe('false')
  await usual(page, 'Max', '2').click()
  await shown(says.getByText('The maximum must be 0 (no limit) or at least the minimum.'))
  await max.fill('')
  await min.fill('0')
  await shown(says.getByText('Give a minimum, a maximum, or a time after which none is kept.'))
  expect(await save.isDisabled()).toBe(true)
  await min.fill('2')
  await usual(page, 'Max', '4').click()
  await shown(form.getByRole('region', { name: 'What it would do' }).getByText(/start.* on (bert|carl)/i))
  expect(await savedBody(page)).toEqual({
    model_name: 'llama',
    node_selector: { tier: 'fast' },
    min_replicas: 2,
    max_replicas: 4,
    route_policy: 'least_loaded',
  })
  await shown(toast(page, 'The rule for llama was saved.'))
  await gone(form)

  await open.click()
  expect(await model.inputValue()).toBe('')
  await model.fill('qwen')
  await model.press('Escape')
  await usual(page, 'Min', '4').click()
  await mode.getByRole('radio', { name: 'Spread to all' }).click()
  await shown(form.getByText('One replica on every node that matches'))
  expect(await savedBody(page)).toEqual({
    model_name: 'qwen',
    min_replicas: 0,
    max_replicas: 0,
    spread_all: true,
    route_policy: 'least_loaded',
  })
  await gone(form)
  await open.click()
  await page.getByRole('button', { name: 'Close the form' }).click()
  await gone(form)
  expect(complaints).toEqual([])
})

test('the table shows the mode, the nodes, the counts and the status of every rule, and why one is not met', async () => {
  const save = (rule: object): Promise<unknown> => cluster.ask('POST', '/api/nodes/scheduling', rule)
  await save({ model_name: 'llama', node_selector: { tier: 'fast' }, min_replicas: 2, max_replicas: 4 })
  await save({ model_name: 'qwen', spread_all: true })
  await save({ model_name: 'unborn', node_selector: { tier: ['fast', 'slow'] } })
  await cluster.ask('POST', '/api/models', { name: 'giant', engine: 'sim', options: FAST })
  await save({ model_name: 'giant', node_selector: { tier: 'none' }, min_replicas: 1 })
  const { page, complaints } = await visit(browser, cluster.frontend, '/rules')
  const says = (model: string, ...cells: string[]): Promise<unknown> =>
    shown(...cells.map((name) => ruleRow(page, model).getByRole('cell', { name, exact: true })))
  await says('llama', 'Auto-scaling', 'tier=fast', '2', '4', '2 / 2', 'OK')
  await says('qwen', 'Spread', 'Any node', 'all matching nodes', '3 / 3', 'OK')
  await says('unborn', 'Placement', 'tier=fast,slow', '–')
  await says('giant', 'Auto-scaling', 'tier=none', '1', 'no limit', '0 / 1')
  const unmet = ruleRow(page, 'giant').getByText(/^Unsatisfiable until \d\d:\d\d$/)
  await shown(unmet)
  await unmet.hover()
  await shown(page.getByText(/It is met as soon as a change makes room/))
  const reasons = page.getByRole('button', { name: 'Reasons for giant' })
  await reasons.click()
  expect(await reasons.getAttribute('aria-expanded')).toBe('true')
  await shown(page.getByRole('list', { name: 'What nodes say' }).getByText(/tier=none/))
  expect(complaints).toEqual([])
})

test('a selector that would leave a model that serves without a replica asks first', async () => {
  await cluster.ask('POST', '/api/nodes/scheduling', { model_name: 'llama', min_replicas: 1 })
  await until(async () => (await cluster.ready('llama')).length > 0)
  const { page, complaints } = await visit(browser, cluster.frontend, '/rules')
  await page.getByRole('button', { name: 'Edit the rule for llama' }).click()
  await page.getByLabel('Node selector: key').fill('nope')
  await page.getByLabel('Node selector: value').fill('1')
  await page.getByLabel('Node selector: value').press('Enter')
  await page.getByRole('button', { name: 'Save the rule' }).click()
  const sure = question(page, 'Leave llama without a replica?')
  await shown(sure.getByText(/no node has that label\. Nodes have .*tier=fast/))
  await sure.getByRole('button', { name: 'Cancel' }).click()
  await gone(sure)
  const { node_selector } = await cluster.ask<{ node_selector: object }>('GET', '/api/nodes/scheduling/llama')
  expect(node_selector).toEqual({})
  expect(complaints).toEqual([])
})

test('a rule is edited: its model stays, a refusal keeps what was typed, cancel forgets it, and removing asks', async () => {
  await cluster.ask('POST', '/api/nodes/scheduling', { model_name: 'llama', min_replicas: 2, max_replicas: 4 })
  const { page, complaints } = await visit(browser, cluster.frontend, '/rules', { expected: /status of 500/ })
  await page.getByRole('button', { name: 'Edit the rule for llama' }).click()
  const form = page.getByRole('form', { name: 'Edit the rule' })
  expect(await form.getByRole('combobox', { name: 'Model' }).getAttribute('readonly')).not.toBeNull()
  const min = form.getByLabel('Min replicas', { exact: true })
  expect(await min.inputValue()).toBe('2')
  await min.fill('3')
  await page.route('**/api/nodes/scheduling*', (route) =>
    route.fulfill({ status: 500, json: { error: { message: 'The store is away.' } } }),
  )
  await form.getByRole('button', { name: 'Save the rule' }).click()
  await shown(form.getByText('The store is away.'))
  expect(await min.inputValue()).toBe('3')
  await page.unrouteAll()
  await form.getByRole('button', { name: 'Cancel' }).click()
  await page.getByRole('button', { name: 'Edit the rule for llama' }).click()
  expect(await min.inputValue()).toBe('2')

  const remove = page.getByRole('button', { name: 'Remove the rule for llama' })
  const sure = question(page, 'Remove the rule for llama?')
  await remove.click()
  await focusOn(page, 'Remove the rule')
  await sure.getByRole('button', { name: 'Cancel' }).click()
  await gone(sure)
  await shown(ruleRow(page, 'llama'))
  await remove.click()
  await sure.getByRole('button', { name: 'Remove the rule' }).click()
  await shown(toast(page, 'The rule for llama was removed.'))
  await gone(ruleRow(page, 'llama'))
  // The form that was open has not lost its rule without a word.
  await shown(form.getByText('Somebody removed this rule while you edit it. Saving makes it again.'))
  expect(complaints).toEqual([])
})

test('two people who edit one rule: the later is told, nothing of either is lost, and the later decides', async () => {
  await cluster.ask('POST', '/api/nodes/scheduling', { model_name: 'llama', min_replicas: 1, max_replicas: 2 })
  const stored = async (): Promise<RuleView> =>
    (await cluster.ask<RuleView[]>('GET', '/api/nodes/scheduling')).find(({ model_name: name }) => name === 'llama')!
  const path = '/rules?model=llama'
  const ada = await visit(browser, cluster.frontend, path)
  const bert = await visit(browser, cluster.frontend, path, { expected: /status of 409/ })
  const form = ({ page }: typeof ada) => page.getByRole('form', { name: 'Edit the rule' })
  const save = (who: typeof ada) => form(who).getByRole('button', { name: 'Save the rule' })
  await form(bert).getByLabel('Max replicas', { exact: true }).fill('8')
  await form(ada).getByLabel('Min replicas', { exact: true }).fill('2')

  // Bert saves in the very moment before he could have seen that Ada has.
  await bert.page.route('**/api/nodes/scheduling*', async (route) => {
    await save(ada).click()
    await shown(toast(ada.page, 'The rule for llama was saved.'))
    await route.continue()
  })
  await save(bert).click()
  await shown(form(bert).getByText('The rule for llama was changed by somebody else while you edit it.'))
  expect(await stored()).toMatchObject({ min_replicas: 2, max_replicas: 2 })
  await shown(
    form(bert).getByRole('row', { name: 'Minimum 1 2 1' }),
    form(bert).getByRole('row', { name: 'Maximum 2 2 8' }),
  )
  expect(await form(bert).getByLabel('Max replicas', { exact: true }).inputValue()).toBe('8')
  expect(await save(bert).isDisabled()).toBe(true)
  await bert.page.unrouteAll()
  await form(bert).getByRole('button', { name: 'Save mine over it' }).click()
  await shown(toast(bert.page, 'The rule for llama was saved.'))
  expect(await stored()).toMatchObject({ min_replicas: 1, max_replicas: 8 })

  // While the form is open the change is told by itself; theirs may be taken instead.
  await ada.page.goto(path)
  await form(ada).getByLabel('Max replicas', { exact: true }).fill('4')
  await cluster.ask('POST', '/api/nodes/scheduling', { model_name: 'llama', min_replicas: 3, max_replicas: 8 })
  await form(ada).getByRole('button', { name: 'Use theirs' }).click()
  expect(await form(ada).getByLabel('Min replicas', { exact: true }).inputValue()).toBe('3')
  expect(await form(ada).getByLabel('Max replicas', { exact: true }).inputValue()).toBe('8')
  await gone(form(ada).getByText('was changed by somebody else'))
  expect([...ada.complaints, ...bert.complaints]).toEqual([])
})

test('a model may have any name, and all its pages know it by that', async () => {
  const name = 'org/m#1 50% ä?'
  await cluster.ask('POST', '/api/models', { name, engine: 'sim', options: FAST })
  const { page, complaints } = await visit(browser, cluster.frontend, '/models')
  await page.getByRole('link', { name, exact: true }).click()
  const heading = (text: string) => page.getByRole('heading', { name: text, level: 1 })
  await shown(heading(name), page.getByText('None is loaded.'))
  await page.reload()
  await shown(heading(name), page.getByText('None is loaded.'))
  await page.getByRole('link', { name: 'Why', exact: true }).last().click()
  await shown(heading(`Why ${name}`), page.getByText('No rule asks for it: it is loaded when somebody asks.'))
  await page.getByRole('link', { name: 'Rule', exact: true }).click()
  const form = page.getByRole('form', { name: 'Add a rule' })
  expect(await form.getByRole('combobox', { name: 'Model' }).inputValue()).toBe(name)
  await form.getByRole('button', { name: 'Save the rule' }).click()
  await until(async () => (await cluster.ready(name)).length === 1)
  const [{ node_id: nodeId } = { node_id: '' }] = await cluster.ready(name)
  await page.goto(`/nodes/${nodeId}`)
  await page.getByRole('link', { name: `Logs of ${name}` }).click()
  await shown(page.getByRole('log', { name: 'Log lines' }).getByText(/listening on/))
  await page.goto(`/playground?model=${encodeURIComponent(name)}`)
  await page.getByLabel('Message').fill('Hello')
  await page.getByLabel('Message').press('Enter')
  await shown(page.getByText(/Flotilla works/))
  expect(complaints).toEqual([])
})

test('a model that no node can run is refused with the near name, and saved for later when that is meant', async () => {
  const { page, complaints } = await visit(browser, cluster.frontend, '/add-model?name=later', {
    expected: /status of 400/,
  })
  const form = page.getByRole('form', { name: 'Add a model' })
  const engine = form.getByRole('combobox', { name: 'Engine', exact: true })
  await engine.fill('simm')
  await engine.press('Escape')
  await form.getByRole('button', { name: 'Add the model' }).click()
  await shown(form.getByText(/No node knows the engine "simm"\. Did you mean sim\?/))
  await form.getByRole('button', { name: 'Save it for later' }).click()
  await shown(toast(page, /later was saved/))
  await cluster.ask('DELETE', '/api/models/later')
  expect(complaints).toEqual([])
})

test('the form of a model checks as one types, and a model is added, loaded, edited and removed', async () => {
  const { page, complaints } = await visit(browser, cluster.frontend, '/models')
  await page.getByRole('link', { name: 'Add a model' }).click()
  const form = page.getByRole('form', { name: 'Add a model' })
  const [name, add] = [form.getByLabel('Name', { exact: true }), form.getByRole('button', { name: 'Add the model' })]
  await name.focus()
  await name.blur()
  await shown(form.getByText('must not be empty').first())
  await name.fill('llama')
  await shown(form.getByText('There is a model of this name already.'))
  expect(await add.isDisabled()).toBe(true)
  await name.fill('tiny')
  await form.getByLabel('Source').fill('nowhere at all')
  await form.getByLabel('VRAM per replica').fill('lots')
  expect(await form.getByLabel('Source').getAttribute('aria-invalid')).toBe('true')
  expect(await form.getByLabel('VRAM per replica').getAttribute('aria-invalid')).toBe('true')
  await form.getByLabel('Source').fill('')
  await form.getByLabel('VRAM per replica').fill('')
  const engine = form.getByRole('combobox', { name: 'Engine', exact: true })
  await engine.fill('sim')
  await engine.press('Escape')
  const options = form.getByRole('group', { name: 'Options of the engine' })
  await options.getByLabel('Options of the engine: key').fill('tokens_per_s')
  await options.getByLabel('Options of the engine: value').fill('100')
  await options.getByRole('button', { name: 'Add' }).click()
  await shown(form.getByText('It has no rule: its first request loads it.'), options.getByText('tokens_per_s=100'))
  await add.click()
  await shown(toast(page, /^tiny was saved/), page.getByRole('heading', { name: /^tiny/, level: 1 }))
  expect(await cluster.ask('GET', '/api/models/tiny')).toMatchObject({ options: { tokens_per_s: 100 } })

  await page.getByRole('button', { name: 'Load', exact: true }).click()
  await shown(page.getByRole('row', { name: / ready / }))
  await page.getByRole('link', { name: 'Edit', exact: true }).click()
  const edit = page.getByRole('form', { name: 'Edit the model' })
  expect(await edit.getByLabel('Name', { exact: true }).getAttribute('readonly')).not.toBeNull()
  await edit.getByRole('button', { name: 'Remove tokens_per_s' }).click()
  await shown(edit.getByText(/replica of the old revision/))
  await edit.getByRole('link', { name: 'Cancel' }).click()

  await page.getByRole('button', { name: 'Actions for tiny', exact: true }).click()
  await page.getByRole('menuitem', { name: 'Remove' }).click()
  const sure = page.getByRole('alertdialog')
  await shown(sure.getByText('tiny').first())
  await sure.getByRole('button').last().click()
  await shown(page.getByRole('heading', { name: 'Models', level: 1 }))
  await gone(page.getByRole('link', { name: 'tiny', exact: true }))
  expect(complaints).toEqual([])
})

test('a rule of the configuration is marked, and whoever edits it is told that the next start overwrites it', async () => {
  const declared = JSON.stringify([{ model_name: 'declared', min_replicas: 1 }])
  const frontend = await startFrontend({ args: ['--model-scheduling', declared] })
  const { page, complaints } = await visit(browser, frontend, '/rules')
  await shown(ruleRow(page, 'declared').getByText('configuration'))
  await page.getByRole('button', { name: 'Edit the rule for declared' }).click()
  await shown(page.getByRole('form').getByText(/next start/))
  expect(complaints).toEqual([])
})
