import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { chromium, type Browser } from 'playwright-core'
import type { LiveMessage } from '../../src/api/admin/live-schemas.ts'
import { findBrowser } from '../../test/support/ui/browser.ts'

/**
 * Pictures of every page of a running cluster, to be looked at:
 * `node bench/dashboard/screenshots.ts --url http://127.0.0.1:8080 --key <admin key> --out /tmp/pictures`
 */
const WIDTHS = { 1440: 900, 1024: 768, 390: 844 } as const
const THEMES = ['light', 'dark'] as const
const { values: given } = parseArgs({
  options: {
    url: { type: 'string', default: 'http://127.0.0.1:8080' },
    key: { type: 'string' },
    out: { type: 'string' },
    /** Only pages whose name begins so. */
    only: { type: 'string', default: '' },
    widths: { type: 'string', default: Object.keys(WIDTHS).join(',') },
    themes: { type: 'string', default: THEMES.join(',') },
  },
})
const { url, key, out } = given
if (key === undefined || out === undefined) throw new Error('--key and --out are needed')
mkdirSync(out, { recursive: true })

const browser = await chromium.launch({ executablePath: findBrowser(), args: ['--no-sandbox', '--disable-gpu'] })
const pages = await listPages(url, key)
for (const theme of given.themes.split(',')) {
  for (const width of given.widths.split(',')) await takeAll(browser, theme as 'light' | 'dark', Number(width))
}
await browser.close()

async function takeAll(from: Browser, theme: 'light' | 'dark', width: number): Promise<void> {
  const height = WIDTHS[width as keyof typeof WIDTHS] ?? 900
  const context = await from.newContext({ baseURL: url, colorScheme: theme, viewport: { width, height } })
  const headers = { 'x-flotilla-dashboard': '1' }
  await context.request.post('/api/session', { data: { key }, headers })
  for (const [name, path] of pages) {
    if (!name.startsWith(given.only)) continue
    const page = await context.newPage()
    await page.goto(path)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.waitForTimeout(1500)
    const wider = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
    if (wider > 0) console.log(`${name} at ${width} px is ${wider} px wider than the window`)
    await page.screenshot({ path: join(out!, `${name}-${width}-${theme}.png`) })
    await page.close()
  }
  await context.close()
}

/** Those of things that there are are pages, too: a model, a node, a replica's logs. */
async function listPages(at: string, adminKey: string): Promise<[name: string, path: string][]> {
  const ask = async <T>(path: string): Promise<T> => {
    const response = await fetch(at + path, { headers: { authorization: `Bearer ${adminKey}` } })
    return (await response.json()) as T
  }
  const [node] = await ask<LiveMessage['nodes']['set']>('/api/nodes')
  const models = await ask<LiveMessage['models']['set']>('/api/models')
  const replicas = await ask<LiveMessage['replicas']['set']>('/api/replicas')
  const [model] = models.toSorted((a, b) => b.name.length - a.name.length)
  const replica = replicas.find(({ node_id: id }) => id === node?.id)
  const pages: [name: string, path: string][] = [
    ['fleet', '/'],
    ['nodes', '/nodes'],
    ['models', '/models'],
    ['add-model', '/add-model'],
    ['rules', '/rules'],
    ['playground', '/playground'],
    ['why', '/why'],
    ['access', '/access'],
    ['missing', '/nothing-here'],
  ]
  if (node) pages.push(['node', `/nodes/${node.id}`], ['why-node', `/why/nodes/${node.id}`])
  if (model) {
    const name = encodeURIComponent(model.name)
    pages.push(['model', `/models/${name}`], ['rule', `/rules?model=${name}`], ['why-model', `/why/models/${name}`])
  }
  if (replica) {
    const replicaKey = encodeURIComponent(`${replica.model_name}#${replica.replica_index}`)
    pages.push(['logs', `/logs/${replica.node_id}/${replicaKey}`])
  }
  return pages
}
