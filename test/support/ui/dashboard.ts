import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { chromium, type Browser, type BrowserContextOptions, type Locator, type Page } from 'playwright-core'
import { DASHBOARD_HEADER } from '../../../src/api/admin/session-names.ts'
import { atEnd } from '../at-end.ts'
import { findBrowser } from './browser.ts'
import type { Flotilla } from '../flotilla.ts'
import { until } from '../until.ts'

/** For what a page shows by itself; processes are started and noticed meanwhile. */
const PATIENCE_MS = 60_000

export async function startBrowser(): Promise<Browser> {
  const browser = await chromium.launch({
    executablePath: findBrowser(),
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  })
  atEnd(() => browser.close())
  return browser
}

export interface Visit {
  page: Page
  /** What the browser wrote to its console as an error, and exceptions nobody caught. */
  complaints: string[]
}

interface Visiting extends BrowserContextOptions {
  /** Complaints that the test provokes, as a refused call is one. */
  expected?: RegExp
  isSignedIn?: boolean
}

/** Somebody with a browser of their own who looks at a page of the dashboard, signed in unless told. */
export async function visit(
  browser: Browser,
  frontend: Pick<Flotilla, 'url' | 'data'>,
  path: string,
  { expected, isSignedIn = true, ...options }: Visiting = {},
): Promise<Visit> {
  const context = await browser.newContext({
    baseURL: frontend.url,
    viewport: { width: 1440, height: 900 },
    reducedMotion: 'reduce',
    ...options,
  })
  atEnd(() => context.close())
  context.setDefaultTimeout(PATIENCE_MS)
  if (isSignedIn) {
    const answer = await context.request.post('/api/session', {
      data: { key: adminKey(frontend) },
      headers: { [DASHBOARD_HEADER]: '1' },
    })
    if (!answer.ok()) throw new Error(`could not sign in: ${answer.status()} ${await answer.text()}`)
  }
  const page = await context.newPage()
  const complaints: string[] = []
  const note = (text: string): void => void (expected?.test(text) || complaints.push(text))
  page.on('console', (message) => {
    if (message.type() === 'error') note(`${message.text()} ${message.location().url}`)
  })
  page.on('pageerror', (error) => note(error.message))
  await page.goto(path)
  return { page, complaints }
}

export function adminKey({ data }: Pick<Flotilla, 'data'>): string {
  return readFileSync(join(data, 'admin.key'), 'utf8').trim()
}

/** Waits until it is shown. */
export const shown = (...all: Locator[]): Promise<unknown> => Promise.all(all.map((one) => one.first().waitFor()))

/** Waits until it is no longer shown. */
export const gone = (one: Locator): Promise<void> => one.waitFor({ state: 'hidden' })

/** A toast. */
export function toast(page: Page, text: string | RegExp): Locator {
  return page.getByRole('region', { name: 'Notifications' }).getByText(text)
}

export function rowOf(page: Page, name: string | RegExp): Locator {
  return page.getByRole('row').filter({ has: page.getByText(name, { exact: true }) })
}

/** Takes an item of a kebab menu. */
export async function choose(page: Page, menu: string, item: string): Promise<void> {
  await page.getByRole('button', { name: menu, exact: true }).click()
  await page.getByRole('menuitem', { name: item }).click()
}

/** The question that is asked before something is done, by its title. */
export function question(page: Page, title: string | RegExp): Locator {
  return page.getByRole('alertdialog', { name: title })
}

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22a', 'wcag22aa']

/** The same is often wrong many times. */
const MOST_TOLD = 3

interface AxeViolation {
  id: string
  help: string
  nodes: { target: unknown; failureSummary?: string }[]
}

/** What keeps people from using the page as it is now, by the rules of WCAG A and AA. */
export async function barriers(page: Page): Promise<string[]> {
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(axeSource)
  // Colours that are on their way from one to another are of neither.
  await page.evaluate(
    `Promise.all(document.getAnimations().map((one) => one instanceof CSSTransition && one.finished))`,
  )
  const run = `axe.run(document, { runOnly: { type: 'tag', values: ${JSON.stringify(RULES)} } })`
  const { violations } = (await page.evaluate(run)) as { violations: AxeViolation[] }
  return violations.map(({ id, help, nodes }) => {
    const some = nodes
      .slice(0, MOST_TOLD)
      .map(({ target, failureSummary }) => `${String(target)} ${failureSummary ?? ''}`)
    return `${id}: ${help}, ${nodes.length} times: ${some.join('; ')}`
  })
}

/** What has the focus, by its name or what stands in it. */
export async function focused(page: Page): Promise<string> {
  const element = page.locator('*:focus')
  if ((await element.count()) === 0) return ''
  return (await element.getAttribute('aria-label')) ?? (await element.innerText())
}

/** Waits until something has the focus. */
export async function focusOn(page: Page, name: string): Promise<void> {
  let last = ''
  await until(async () => (last = await focused(page)) === name).catch((error: Error) => {
    throw new Error(`the focus is on "${last}", not on "${name}"`, { cause: error })
  })
}
