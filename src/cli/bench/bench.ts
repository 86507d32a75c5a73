import { open } from 'node:fs/promises'
import { AppError } from '../../platform/errors.ts'
import { fileProblem } from '../../platform/file-problem.ts'
import { version } from '../../platform/version.ts'
import { INTERRUPTED, viewOf, type Act, type Client } from '../client.ts'
import { findNamed } from '../find-one.ts'
import { servedModels } from '../served-models.ts'
import { plain } from '../terminal/text-width.ts'
import { startAsker } from './load/asker.ts'
import { findBalances } from './load/balance.ts'
import { drive } from './load/drive.ts'
import { jsonReport } from './json-report.ts'
import { makePlan } from './load/make-plan.ts'
import type { Plan } from './load/mix.ts'
import { showProgress } from './progress-line.ts'
import { renderReport } from './render-report.ts'
import { makeReport, type BenchReport } from './report.ts'
import { Results } from './results.ts'
import { steadyClock } from './load/steady-clock.ts'
import { stepFor } from './timeline.ts'

/** Sends load to a cluster and reports the measurements. */
export const bench: Act = async (client, given) => {
  const plan = await makePlan(given)
  // Checked first, rather than by an error for every request.
  const models = await servedModels(client.cluster)
  for (const { model } of plan.parts) findNamed('model', model, models)
  // Opened before anything is sent: an unwritable report must not cost an hour of load.
  const page = given.own.has('html') ? await openPage(given.own.get('html')!) : undefined
  const report = await run(client, plan)
  if (page) {
    const { renderPage } = await import('./html/page.ts')
    await page.file.writeFile(renderPage(report))
    await page.file.close()
  }
  client.terminal.print(
    client.json ? JSON.stringify(jsonReport(report), null, 2) : renderReport(report, viewOf(client)).join('\n'),
  )
  if (page) client.terminal.note(`The page is in ${plain(page.path)}.`)
  if (report.interrupted) return INTERRUPTED
  return report.all.requests.answered > 0 ? 0 : 1
}

async function run({ api, cluster, terminal }: Client, plan: Plan): Promise<BenchReport> {
  const { mostInFlight, timeoutMs, warmUpMs } = plan
  const ratePerS = plan.parts.reduce((sum, part) => sum + part.ratePerS, 0)
  const durationMs = Math.min(plan.forMs, (1000 * plan.mostConversations) / ratePerS)
  const names = [...new Set(plan.parts.map(({ model }) => model))]
  const results = new Results(names, { warmUpMs, stepMs: stepFor(durationMs, ratePerS) })
  const asker = startAsker({ url: new URL(cluster.url), key: cluster.key, mostInFlight, timeoutMs, clock: steadyClock })
  const stop = new AbortController()
  const forget = terminal.onInterrupt(() => {
    stop.abort()
    asker.abandon()
  })
  const startedAt = new Date().toISOString()
  const [fromMs, cpuBefore] = [steadyClock.nowMs(), process.cpuUsage()]
  const progress = showProgress(terminal, plan, results, steadyClock)
  try {
    await drive({ plan, asker, results, clock: steadyClock, stop: stop.signal })
  } finally {
    progress.end()
    forget()
    asker.abandon()
  }
  const { user, system } = process.cpuUsage(cpuBefore)
  const cpuShare = (user + system) / 1000 / (steadyClock.nowMs() - fromMs)
  const balances = await findBalances(api, results.models)
  const about = { url: cluster.url, secret: cluster.key, version, startedAt, cpuShare }
  return makeReport({ plan, results, balances, isInterrupted: stop.signal.aborted, ...about })
}

async function openPage(path: string) {
  try {
    return { path, file: await open(path, 'w') }
  } catch (error) {
    throw new AppError('usage', `flotilla bench: --html: cannot write ${plain(path)}: ${fileProblem(error)}.`)
  }
}
