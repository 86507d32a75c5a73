import type { Loading, LoadStatus } from '../../api/load-status.ts'
import { AppError, type ErrorExtra } from '../../platform/errors.ts'

/** Bounds for Retry-After: sooner is useless, and after the longest one control may have forgotten the model. */
const RETRY_AFTER_S = { least: 5, most: 300 }
/** The Retry-After when no attempt is planned: a person has to change something first. */
const UNPLANNED_S = 30

/** For a request whose wait is over: how far the load is, and when to try again. */
export function stillLoading(model: string, status: LoadStatus | undefined, waitMs: number): AppError {
  const loading = loadingOf(model, status)
  const retryAfterS = clamped(loading.eta_seconds ?? waitMs / 1000)
  const text = `${howFar(loading, status)} Try again in ${retryAfterS} s.`
  return new AppError('model_loading', text, { retryAfterS, details: { param: 'model' }, beside: { loading } })
}

/** For all requests that wait for a load that failed: the cause, and the next attempt. */
export function loadFailed(model: string, status: LoadStatus, nowMs: number): AppError {
  const { reason, next_attempt_at: nextAtMs } = status
  const why = reason ?? 'the reason is not known.'
  const next =
    nextAtMs === null ? `flotilla why ${model} tells more` : `The next attempt is in ${until(nextAtMs, nowMs)}`
  const text = `Model "${model}" could not be loaded: ${sentence(why)} ${next}.`
  return new AppError('model_load_failed', text, { ...retryOf(status, nowMs), details: { param: 'model' } })
}

export function noCapacity(model: string, status: LoadStatus, nowMs: number): AppError {
  const { reason, is_final: isFinal } = status
  const why = reason ?? 'no node has room for it.'
  const text = `Model "${model}" cannot be loaded${isFinal ? ', and waiting does not help' : ' now'}: ${sentence(why)} flotilla why ${model} shows what each node lacks.`
  return new AppError('no_capacity', text, { ...retryOf(status, nowMs), details: { param: 'model' } })
}

export function controlAway(model: string, silence: string, waitMs: number): AppError {
  const text = `Model "${model}" has no ready replica, and the control plane, which decides where to load it, does not answer: ${sentence(silence)} Check that a frontend runs and that this gateway reaches the bus; then try again.`
  return new AppError('unavailable', text, { retryAfterS: clamped(waitMs / 1000), details: { param: 'model' } })
}

/** How far the load is; `waiting` until control has said more. */
export function loadingOf(model: string, status: LoadStatus | undefined): Loading {
  return status?.loading ?? { ...NOTHING_YET, model }
}

const NOTHING_YET = {
  state: 'waiting',
  node: null,
  progress: 0,
  bytes_sent: 0,
  total_bytes: 0,
  file_index: 0,
  total_files: 0,
} as const

/** `Model "x" is staging on node thor (43 %, about 2 min left).` */
function howFar({ model, state, node, progress, eta_seconds: etaS }: Loading, status: LoadStatus | undefined): string {
  if (state === 'waiting') {
    const why = status?.reason
    return why ? `Model "${model}" waits to be loaded: ${sentence(why)}` : `Model "${model}" waits to be loaded.`
  }
  const where = node === null ? '' : ` on node ${node}`
  const facts = [progress > 0 ? `${progress} %` : '', etaS === undefined ? '' : `about ${roughly(etaS)} left`]
  const known = facts.filter((fact) => fact !== '').join(', ')
  return `Model "${model}" is ${STATES[state]}${where}${known && ` (${known})`}.`
}

const STATES: Readonly<Record<Exclude<Loading['state'], 'waiting'>, string>> = {
  reserved: 'about to be started',
  installing: 'waiting for its engine to be installed',
  staging: 'staging',
  loading: 'loading',
}

/** `40 s`, `2 min`, `3 h`. */
function roughly(seconds: number): string {
  if (seconds < 90) return `${Math.ceil(seconds)} s`
  return seconds < 90 * 60 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`
}

function until(atMs: number, nowMs: number): string {
  return roughly(Math.max(1, (atMs - nowMs) / 1000))
}

/** When to retry, or that retrying is useless. Control decides, because it knows what each node lacks. */
function retryOf({ next_attempt_at: nextAtMs, is_final: isFinal }: LoadStatus, nowMs: number): ErrorExtra {
  if (isFinal) return { isFinal }
  return { retryAfterS: nextAtMs === null ? UNPLANNED_S : clamped((nextAtMs - nowMs) / 1000) }
}

function clamped(seconds: number): number {
  return Math.min(RETRY_AFTER_S.most, Math.max(RETRY_AFTER_S.least, Math.ceil(seconds)))
}

function sentence(text: string): string {
  const trimmed = text.trim()
  return /[.!?]$/.test(trimmed) ? trimmed : `${trimmed}.`
}
