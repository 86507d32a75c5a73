import { AppError } from '../../platform/errors.ts'
import { showUrl, type HttpAnswer } from './http-get.ts'
import { Interruption } from './persist.ts'

/** Throws the error for an unusable answer: an Interruption if a retry may help. */
export function judgeAnswer(answer: HttpAnswer, label: string, nowMs: number): never {
  const { status, headers, url } = answer
  answer.body.destroy()
  // The final host, if a redirect led to another one.
  const where = label.startsWith(url.host) ? '' : ` (at ${showUrl(url)})`
  const say = (text: string): string => `Cannot fetch ${label}${where}: ${text}`
  if (status === 404 || status === 410) {
    throw new AppError('not_found', say(`there is no such file (${status}). Check the model's source.`))
  }
  if (status === 401 || status === 403) {
    const hint = 'Check that it exists and that this node may read it: hf: sources may need a token (--hf-token).'
    throw new AppError('bad_gateway', say(`access was refused (${status}). ${hint}`))
  }
  if (status >= 500 || status === 408 || status === 425 || status === 429) {
    throw new Interruption(`the server answered ${status}`, retryAfterMs(headers['retry-after'], nowMs))
  }
  throw new AppError('bad_gateway', say(`the server answered ${status}.`))
}

/** From seconds or a date. */
function retryAfterMs(text: string | undefined, nowMs: number): number {
  if (text === undefined) return 0
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - nowMs
  return Number.isFinite(ms) ? Math.max(0, ms) : 0
}
