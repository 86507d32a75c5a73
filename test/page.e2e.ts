import { chromium, type Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startUp } from '../src/testing/flotilla.ts'
import { findBrowser } from '../src/testing/browser.ts'

let browser: Browser
beforeAll(async () => {
  browser = await chromium.launch({
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
})
afterAll(() => browser.close())

test('the first page shows the model and streams an answer', async () => {
  const up = await startUp()
  const page = await browser.newPage()
  const problems: string[] = []
  page.on('console', (message) => message.type() === 'error' && problems.push(message.text()))
  page.on('pageerror', (error) => problems.push(error.message))
  await page.goto(up.url)
  await page.getByText('1 of 1 model ready').waitFor()
  await page.getByText('1 replica ready').waitFor()
  await page.getByLabel('Message').fill("What's a slot?")
  await page.getByRole('button', { name: 'Send' }).click()
  await page.getByRole('status').first().waitFor()
  await page.locator('#answer', { hasText: 'Flotilla works' }).waitFor()
  expect(await page.locator('#curl').textContent()).toContain(String.raw`What'\''s a slot?`)
  await page.getByRole('button', { name: 'Send', disabled: false }).waitFor()
  expect(problems).toEqual([])
  await page.close()
})

test('a model that nobody has loaded can be asked, and says how far it is meanwhile', async () => {
  const up = await startUp()
  await up.admin('POST', '/api/models', { name: 'cold', engine: 'sim', options: { load_ms: 3000 } })
  const page = await browser.newPage()
  await page.goto(up.url)
  await page.getByText('loaded when it is asked').waitFor()
  await page.getByRole('combobox', { name: 'Model' }).selectOption('cold')
  await page.getByRole('button', { name: 'Send' }).click()
  await page.locator('#answer', { hasText: 'The model is being loaded' }).waitFor()
  await page.locator('#answer', { hasText: 'Flotilla works' }).waitFor()
  expect(await page.locator('#answer').textContent()).not.toContain('being loaded')
  expect(await page.getByRole('alert').textContent()).toBe('')
  await page.close()
})
