import type { LoadStatus } from '../../api/load-status.ts'
import { sleep } from '../../platform/run/clock.ts'
import { AppError } from '../../platform/errors.ts'
import { INTERRUPTED, show, viewOf, type Act, type Client } from '../client.ts'
import { barBefore } from '../terminal/bar.ts'
import { findNamed } from '../find-one.ts'
import { shellWord, span } from '../terminal/format.ts'
import { loadingText } from '../text/load-text.ts'
import { plain, truncate } from '../terminal/text-width.ts'
import { wrap } from '../terminal/wrap.ts'

const POLL_MS = 1000
/** After this many failed polls the frontend is given up; the load continues, unobserved. */
const MOST_MISSES = 30
/** A load request expires after ten minutes, so --wait renews it before that. */
const ASK_AGAIN_MS = 4 * 60_000
/** Right after the request, a node may be about to come back or to make room: only a lasting refusal counts. */
const MOST_REFUSALS = 5

/** Loads a model, and waits until it can serve if told to. */
export const load: Act = async (client, { values, own }) => {
  const { name } = findNamed('model', values[0]!, await client.api.call('listModels'))
  const interrupted = own.has('wait') ? client.terminal.interrupted() : undefined
  const asked = await client.api.call('loadModel', { name })
  const status = interrupted ? await untilSettled(client, name, asked, interrupted) : asked
  if (!status) {
    const how = `flotilla why ${shellWord(name)}${client.sameCluster}`
    client.terminal.note(`No longer waiting; the load goes on. ${how} shows how far it is.`)
    return INTERRUPTED
  }
  show(client, status, () => outcome(client, name, status))
  return status.state === 'ready' || status.state === 'loading' || status.state === 'waiting' ? 0 : 1
}

/** Undefined when it was interrupted. */
async function untilSettled(
  client: Client,
  name: string,
  asked: LoadStatus,
  interrupted: AbortSignal,
): Promise<LoadStatus | undefined> {
  const { api, terminal, clock, json } = client
  const tell = json ? () => {} : teller(client, name)
  let status = asked
  let [misses, refusals, askedMs] = [0, 0, clock.nowMs()]
  for (;;) {
    refusals = status.state === 'refused' ? refusals + 1 : 0
    const isUnderWay = status.state === 'loading' || status.state === 'waiting'
    if (!isUnderWay && (refusals === 0 || refusals >= MOST_REFUSALS)) break
    tell(status)
    await sleep(clock, POLL_MS, interrupted)
    if (interrupted.aborted) break
    const isDue = clock.nowMs() - askedMs >= ASK_AGAIN_MS
    try {
      status = await api.call(isDue ? 'loadModel' : 'loadStatus', { name }, undefined, interrupted)
      if (isDue) askedMs = clock.nowMs()
      misses = 0
    } catch (error) {
      if (interrupted.aborted) break
      misses += 1
      if (!(error instanceof AppError) || error.code === 'not_found' || misses >= MOST_MISSES) throw error
    }
  }
  if (!json) terminal.live('')
  return interrupted.aborted ? undefined : status
}

/** On a terminal one line that is written over, elsewhere a line for each phase and each tenth. */
function teller({ terminal }: Client, name: string): (status: LoadStatus) => void {
  let told: string | undefined
  return (status) => {
    if (terminal.interactive) {
      const { loading } = status
      const bar = loading && loading.state !== 'waiting' ? barBefore(terminal.columns, loading.progress, 100) : ''
      terminal.live(truncate(`${plain(name)}: ${bar}${doing(status)}`, terminal.columns - 1))
      return
    }
    const rounded = `${plain(name)}: ${doing({ ...status, loading: status.loading && inTenths(status.loading) })}`
    if (rounded !== told) terminal.live(rounded)
    told = rounded
  }
}

function doing({ loading, reason }: LoadStatus): string {
  if (loading && loading.state !== 'waiting') return loadingText(loading)
  return reason === null ? 'waiting to be placed' : plain(reason)
}

function inTenths({ eta_seconds: _eta, ...loading }: NonNullable<LoadStatus['loading']>): LoadStatus['loading'] {
  return { ...loading, progress: Math.floor(loading.progress / 10) * 10 }
}

function outcome(client: Client, name: string, status: LoadStatus): string[] {
  const { width, paint, nowMs, sameCluster } = viewOf(client)
  const model = plain(name)
  const lines = (text: string): string[] => wrap(plain(text), width)
  const why = `flotilla why ${shellWord(name)}${sameCluster} tells more.`
  switch (status.state) {
    case 'ready':
      return [`${model} is ready.`]
    case 'loading':
    case 'waiting':
      return [
        ...lines(`${model}: ${doing(status)}`),
        `flotilla models load ${shellWord(name)} --wait${sameCluster} shows when it is ready.`,
      ]
    case 'failed':
    case 'refused': {
      const again = status.next_attempt_at
      const what = `${model} ${status.state === 'failed' ? 'was not loaded' : 'cannot be loaded'}: ${status.reason ?? ''}`
      return [
        ...lines(what).map((line) => paint('red', line)),
        ...(again === null ? [] : [`It is tried again in ${span(again - nowMs)}.`]),
        why,
      ]
    }
    case 'stopped':
    case 'unknown':
      return [...lines(`${model} is not loaded: ${status.reason ?? 'no request waits for it any longer.'}`), why]
  }
}
