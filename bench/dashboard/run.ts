import { chromium, type Browser } from 'playwright-core'
import { findBrowser } from '../../test/support/ui/browser.ts'
import { NODES, REPLICAS, startBigFleet } from './big-fleet.ts'
import { startFrontend, type Frontend } from './frontend-process.ts'
import { firstView, newVisitor, watchFrames, type FirstView, type WatchedPath } from './watched-page.ts'

/**
 * The dashboard of a large cluster in a real browser: how long until it is seen, and whether it stays smooth while nodes tell
 * of 50 changes a second. Beside it the same page that hears of no change: what it drops, the machine drops. Frontend, bus,
 * placement and API are the real ones; only the machines and the requests are made up.
 */
const VISITS = 5
const SECONDS = 20
const LIMIT_MS = 1000
const PATHS: readonly WatchedPath[] = ['/', '/nodes']

const frontend = await startFrontend()
try {
  console.log(`${NODES} nodes, ${REPLICAS} replicas: joining and placing …`)
  const fleet = await startBigFleet(frontend)
  const browser = await chromium.launch({
    executablePath: findBrowser(),
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update'],
  })
  try {
    for (const path of PATHS) await measureFirstView(browser, frontend, path)
    for (const path of PATHS) await measureFrames(browser, frontend, path)
  } finally {
    await browser.close()
    await fleet.stop()
  }
} finally {
  await frontend.stop()
}

/** Each visitor comes for the first time, and once more. */
async function measureFirstView(browser: Browser, { url, adminKey }: Frontend, path: WatchedPath): Promise<void> {
  const views: Record<'first' | 'again', FirstView[]> = { first: [], again: [] }
  for (let i = 0; i < VISITS; i += 1) {
    const context = await newVisitor(browser, { url, adminKey })
    views.first.push(await firstView(context, path))
    views.again.push(await firstView(context, path))
    await context.close()
  }
  console.log(`\n${path}: all of it is seen after (median, and best, of ${VISITS} visits)`)
  for (const [name, seen] of Object.entries(views)) {
    const times = seen.map(({ shownMs }) => shownMs).toSorted((a, b) => a - b)
    const busy = median(seen.map(({ busyMs }) => busyMs))
    const kilobytes = Math.round(median(seen.map(({ transferredBytes }) => transferredBytes)) / 1000)
    const [middle, best] = [median(times), times[0]!]
    console.log(
      `  ${name.padEnd(6)} ${ms(middle)}, ${ms(best)}; ${(middle / LIMIT_MS).toFixed(2)} of the limit of 1 s; ` +
        `the page's thread works ${ms(busy)}; ${kilobytes} kB of files`,
    )
  }
}

async function measureFrames(browser: Browser, { url, adminKey }: Frontend, path: WatchedPath): Promise<void> {
  const context = await newVisitor(browser, { url, adminKey })
  const still = await watchFrames(context, path, { seconds: SECONDS, frozen: true })
  const live = await watchFrames(context, path, { seconds: SECONDS, frozen: false })
  await context.close()
  console.log(`\n${path}: ${SECONDS} s`)
  for (const [name, seen] of Object.entries({ still, live })) {
    console.log(
      `  ${name.padEnd(6)} ${percent(seen.droppedShare)} of frames dropped, the longest took ${ms(seen.longestMs)}, ` +
        `${seen.longTasks} tasks above 50 ms; ${percent(seen.busyShare)} of one core; heap ${megabytes(seen.heapBytes)}`,
    )
  }
  const [more, work] = [live.droppedShare - still.droppedShare, (live.busyShare - still.busyShare) * 1000]
  console.log(
    `  live drops ${percent(more)} more; ${live.messagesPerS.toFixed(1)} messages/s of ` +
      `${Math.round(live.bytesPerS / live.messagesPerS / 1000)} kB, each ${ms(work / live.messagesPerS)} of the page's thread`,
  )
}

function median(figures: readonly number[]): number {
  return figures.toSorted((a, b) => a - b)[Math.floor(figures.length / 2)]!
}

function ms(value: number): string {
  return `${value.toFixed(0)} ms`
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(0)} MB`
}
