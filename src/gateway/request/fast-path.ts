import type { Known, ShortcutDeps } from './known-head.ts'
import { plainFields } from '../../core/lib/plain-fields.ts'
import { isLoopback } from '../../platform/address.ts'
import type { HttpRequest } from '../../http/exchange.ts'
import { pathOf } from '../../http/server.ts'
import { Instead, linesPassedOn } from '../../http/upstream/forward-headers.ts'
import { idIn, type RepeatedHead } from '../../http/fast/path/head-template.ts'
import type { ShortExchange, ShortLane, Shortcut } from '../../http/fast/path/fast-path.ts'
import { REPLACED } from '../deliver/attempt.ts'
import { callerOf, shownBy, type GuardDeps } from '../access/guard.ts'
import { mayUse } from '../access/find-model.ts'
import { isModelsPath } from './models-api.ts'
import { isJsonType, sessionInHeader } from './read-request.ts'
import { refuseDots } from './refuse-dots.ts'
import { replicaAt } from '../table/replica-at.ts'
import { newRequestId } from './request-id.ts'
import type { LiveRoute } from '../table/routing-table.ts'
import { ShortRequest } from './fast-request.ts'

/** Longer bodies take the full path, which does not copy them together with their head. */
const MOST_BODY_BYTES = 16 * 1024

/**
 * The gateway's fast path: for JSON requests to a model with a free place and a replica that is known to be alive. It makes
 * the same decisions as the full path, and leaves every unusual or failing request to `infer`.
 */
export function inferenceShortcut(deps: ShortcutDeps): Shortcut<Known> {
  const { table, clock, guard, limits, readyDeps, serveDeps } = deps
  const { liveness } = serveDeps
  const mostBytes = Math.min(MOST_BODY_BYTES, limits?.mostBodyBytes ?? MOST_BODY_BYTES)
  const isOut = (route: LiveRoute): boolean => liveness.whyOut(route) !== undefined

  const take = (known: Known, bytes: Buffer, head: RepeatedHead, lane: ShortLane): ShortExchange | undefined => {
    const { bodyAt, length } = head
    if (length > mostBytes) return undefined
    const caller = callerOf(known.shown, lane.isLocal, guard)
    const fields = caller && plainFields(bytes, bodyAt)
    const served = fields && table.model(fields.model)
    if (!served || !mayUse(caller, served.name) || served.serves?.has(known.path) === false) return undefined
    const atMs = clock.nowMs()
    const sessionKey = known.sessionKey ?? fields.user
    const route = table.pick(served.name, { sessionKey }, isOut)
    const at = route && !liveness.check(route, atMs) ? replicaAt(route, serveDeps.tls) : undefined
    const leave = at && readyDeps.waitingRoom.enterNow(served.name)
    if (!leave) return undefined
    const requestId = idIn(bytes, head) ?? newRequestId()
    const { isStream } = fields
    const short = { known, caller, sessionKey, served, isStream, requestId, atMs, route: route!, at, leave }
    try {
      return new ShortRequest(deps, short, lane, bodyAt, serveDeps.pool.take(at, at.tls))
    } catch (error) {
      leave()
      throw error
    }
  }
  return { know: (request) => know(request, guard), take }
}

/** Remembers only heads of allowed callers, so that other clients cannot fill the cache. */
function know(request: HttpRequest, guard: GuardDeps): Known | undefined {
  const { method, url = '', headers, rawHeaders } = request
  const path = pathOf(request)
  const isPlain = method === 'POST' && path === url && !isModelsPath(path) && isJsonType(headers['content-type'] ?? '')
  if (!isPlain || UNUSUAL.some((name) => headers[name] !== undefined)) return undefined
  try {
    refuseDots(path)
    const shown = shownBy(request)
    if (!callerOf(shown, isLoopback(request.socket.remoteAddress ?? ''), guard)) return undefined
    return {
      shown,
      url,
      path,
      sessionKey: sessionInHeader(request),
      lines: linesPassedOn(rawHeaders, WITHOUT_OURS, true),
      starts: new WeakMap(),
    }
  } catch {
    return undefined
  }
}

const UNUSUAL = ['content-encoding', 'x-flotilla-wait']
const WITHOUT_OURS = new Instead(REPLACED, '')
