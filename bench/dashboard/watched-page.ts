import type { Browser, BrowserContext, CDPSession } from 'playwright-core'
import type { Frontend } from './frontend-process.ts'

/** Has everything drawn been painted? By page: what shows that the whole fleet is there. */
const PAGES = { '/': 'section[aria-label="Nodes"] li', '/nodes': 'tbody tr' } as const
export type WatchedPath = keyof typeof PAGES
/** The roster draws those rows that are in sight, and some beyond. */
const LEAST_DRAWN = { '/': 200, '/nodes': 15 } as const
const FRAME_MS = 1000 / 60

export interface FirstView {
  /** From going there to the frame that shows the fleet. */
  shownMs: number
  transferredBytes: number
  /** Processor time of the page's thread until then. */
  busyMs: number
}

export interface Frames {
  seconds: number
  frames: number
  /** Of those that a screen with 60 Hz had room for. */
  droppedShare: number
  longestMs: number
  /** Tasks above 50 ms. */
  longTasks: number
  /** Processor time of the page's thread, of one core. */
  busyShare: number
  messagesPerS: number
  bytesPerS: number
}

/** A signed-in browser of its own, as of somebody who has never been here. */
export async function newVisitor(
  browser: Browser,
  { url, adminKey }: Pick<Frontend, 'url' | 'adminKey'>,
): Promise<BrowserContext> {
  const context = await browser.newContext({ baseURL: url, viewport: { width: 1440, height: 900 } })
  const headers = { 'x-flotilla-dashboard': '1' }
  const answer = await context.request.post('/api/session', { data: { key: adminKey }, headers })
  if (!answer.ok()) throw new Error(`cannot sign in: ${answer.status()}`)
  await context.addInitScript(watch, { selectors: PAGES, least: LEAST_DRAWN })
  return context
}

export async function firstView(context: BrowserContext, path: WatchedPath): Promise<FirstView> {
  const page = await context.newPage()
  const cdp = await context.newCDPSession(page)
  await cdp.send('Performance.enable', { timeDomain: 'threadTicks' })
  await page.goto(path, { waitUntil: 'commit' })
  await page.waitForFunction(() => (globalThis as Watched).shownMs !== undefined, undefined, { polling: 50 })
  const busyMs = 1000 * (await busySeconds(cdp))
  const view = await page.evaluate(() => ({
    shownMs: (globalThis as Watched).shownMs!,
    transferredBytes: performance
      .getEntriesByType('resource')
      .reduce((sum, entry) => sum + (entry as PerformanceResourceTiming).transferSize, 0),
  }))
  await page.close()
  return { ...view, busyMs }
}

/** Looks at a page for a while. `frozen` leaves it as it is after the first message: the same page without changes. */
export async function watchFrames(
  context: BrowserContext,
  path: WatchedPath,
  { seconds, frozen }: { seconds: number; frozen: boolean },
): Promise<Frames & { heapBytes: number }> {
  const page = await context.newPage()
  await page.goto(path)
  await page.waitForFunction(() => (globalThis as Watched).shownMs !== undefined)
  await page.evaluate((isFrozen) => {
    ;(globalThis as Watched).frozen = isFrozen
  }, frozen)
  await page.waitForTimeout(2000)
  const cdp = await context.newCDPSession(page)
  await cdp.send('Performance.enable', { timeDomain: 'threadTicks' })
  const before = await busySeconds(cdp)
  const seen = await page.evaluate(countFrames, { seconds, frameMs: FRAME_MS })
  const busyShare = ((await busySeconds(cdp)) - before) / seconds
  await cdp.send('HeapProfiler.collectGarbage')
  const { usedSize } = await cdp.send('Runtime.getHeapUsage')
  await page.close()
  return { ...seen, busyShare, heapBytes: usedSize }
}

async function busySeconds(cdp: CDPSession): Promise<number> {
  const { metrics } = await cdp.send('Performance.getMetrics')
  return metrics.find(({ name }) => name === 'TaskDuration')?.value ?? 0
}

interface Watched {
  shownMs?: number
  frozen?: boolean
  received?: { messages: number; bytes: number }
}

/** Runs in the page before anything of it. */
function watch({ selectors, least }: { selectors: Record<string, string>; least: Record<string, number> }): void {
  const seen = globalThis as Watched
  const received = { messages: 0, bytes: 0 }
  seen.received = received
  const look = (): void => {
    const path = location.pathname
    const drawn = document.querySelectorAll(selectors[path] ?? 'nothing').length
    if (drawn < (least[path] ?? 1)) requestAnimationFrame(look)
    // What this frame draws is painted when the next task runs.
    else requestAnimationFrame(() => setTimeout(() => (seen.shownMs = performance.now())))
  }
  requestAnimationFrame(look)
  class CountedSource extends EventSource {
    constructor(url: string | URL) {
      super(url)
      // The first to listen: what it keeps back, the page does not hear.
      this.addEventListener('message', (event: MessageEvent<string>) => {
        if (seen.frozen) return event.stopImmediatePropagation()
        received.messages += 1
        received.bytes += event.data.length
      })
    }
  }
  globalThis.EventSource = CountedSource
}

/** Runs in the page: each frame says how long it took. */
function countFrames({ seconds, frameMs }: { seconds: number; frameMs: number }): Promise<Omit<Frames, 'busyShare'>> {
  const received = (globalThis as Watched).received!
  const [messages, bytes] = [received.messages, received.bytes]
  let longTasks = 0
  const observer = new PerformanceObserver((list) => (longTasks += list.getEntries().length))
  observer.observe({ type: 'longtask' })
  return new Promise((resolve) => {
    const startMs = performance.now()
    let [lastMs, frames, dropped, longestMs] = [0, 0, 0, 0]
    const onFrame = (nowMs: number): void => {
      if (lastMs > 0) {
        const took = nowMs - lastMs
        frames += 1
        dropped += Math.max(0, Math.round(took / frameMs) - 1)
        longestMs = Math.max(longestMs, took)
      }
      lastMs = nowMs
      if (nowMs - startMs < seconds * 1000) return void requestAnimationFrame(onFrame)
      observer.disconnect()
      resolve({
        seconds,
        frames,
        droppedShare: dropped / (frames + dropped),
        longestMs,
        longTasks,
        messagesPerS: (received.messages - messages) / seconds,
        bytesPerS: (received.bytes - bytes) / seconds,
      })
    }
    requestAnimationFrame(onFrame)
  })
}
