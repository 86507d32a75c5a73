import type { HttpResponse } from '../exchange.ts'
import { sendJson } from '../server.ts'

/** Why a part is not ready; undefined when it is. */
export type Check = () => string | undefined

/** `/healthz`: the process runs. `/readyz`: whether each part can work, and why not; notes do not change the status. */
export function sendHealth(
  path: '/healthz' | '/readyz',
  response: HttpResponse,
  checks: Record<string, Check>,
  notes: Record<string, Check> = {},
): void {
  if (path === '/healthz') return sendJson(response, 200, { status: 'ok' })
  const results = Object.entries(checks).map(([name, check]) => [name, check() ?? 'ok'] as const)
  const ready = results.every(([, result]) => result === 'ok')
  const told = Object.entries(notes).flatMap(([name, note]) => (note() === undefined ? [] : [[name, note()] as const]))
  const body = { status: ready ? 'ready' : 'not ready', checks: Object.fromEntries(results) }
  sendJson(response, ready ? 200 : 503, told.length === 0 ? body : { ...body, notes: Object.fromEntries(told) })
}
