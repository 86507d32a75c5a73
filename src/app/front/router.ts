import { join } from 'node:path'
import { sendDocs } from '../../control/api/docs-page.ts'
import { openDashboard, type Dashboard } from './dashboard-files.ts'
import { starting, type EarlyRoom } from './startup-queue.ts'
import { sendApiError } from '../../gateway/access/api-errors.ts'
import { allowInference, allowMetrics, type Caller, type GuardDeps } from '../../gateway/access/guard.ts'
import { isOllamaPath, sendOllamaError } from '../../gateway/ollama/ollama-api.ts'
import { AppError } from '../../platform/errors.ts'
import type { ExchangeHandler, HttpRequest, HttpResponse } from '../../http/exchange.ts'
import { sendMetrics } from '../../platform/metrics/exposition.ts'
import { sendHealth, type Check } from '../../http/server/health.ts'
import { pathOf, type Handler } from '../../http/server.ts'
import type { FamilySource, Metrics } from '../../platform/metrics/metrics.ts'
import { projectFolder } from '../../platform/version.ts'

/** A handler that also gets the caller. */
export type InferenceHandler = (request: HttpRequest, response: HttpResponse, caller: Caller) => Promise<void> | void

export interface InferenceRoom {
  handler: InferenceHandler
  /** For requests of Ollama's API. */
  ollama: InferenceHandler
  guard: GuardDeps
  metrics: Metrics
  /** The metrics of all processes that share the port, if there are several. */
  metricsOfAll?: (() => Promise<FamilySource>) | undefined
}

export interface Rooms {
  inference?: InferenceRoom
  /** Where inference requests wait before the gateway is ready. */
  early?: EarlyRoom
  /** Absent without a control plane: in a gateway process. */
  admin?: Handler
  checks: Record<string, Check>
  /** Warnings for a health check that still passes. */
  notes?: Record<string, Check>
  /** Replaces the bundled one. */
  dashboard?: Dashboard
}

const builtDashboard = openDashboard(join(projectFolder, 'ui', 'dist'))

/** The one HTTP listener of a frontend: every request enters here and is routed to its handler. */
export function frontDoor(rooms: Rooms): Handler {
  const { inference, early, admin, checks, notes, dashboard = builtDashboard } = rooms
  const infer = early?.handler ?? (inference && inferenceDoor(inference))
  return (request, response) => {
    const path = pathOf(request)
    if (path === '/healthz' || path === '/readyz') return sendHealth(path, response, checks, notes)
    if (path === '/metrics' && inference) {
      allowMetrics(request, inference.guard)
      const { metrics, metricsOfAll } = inference
      if (!metricsOfAll) return sendMetrics(metrics, request, response)
      return metricsOfAll().then((all) => sendMetrics(all, request, response))
    }
    if (path.startsWith(INFERENCE_PREFIX) && infer) return infer(request, response)
    if (inference && isOllamaPath(path)) return ollamaDoor(inference)(request, response)
    if (path.startsWith('/api/') && admin) return admin(request, response)
    if (path === '/docs' && admin && isRead(request)) return sendDocs(request, response)
    // It shows data of the admin API, so it is useless without one.
    if ((admin || !inference) && dashboard(request, response)) return
    if (!inference) throw starting()
    const where = admin ? 'the admin API under /api/' : 'the admin API at a frontend'
    throw new AppError('not_found', `There is nothing at ${path}. The OpenAI API is under /v1/, ${where}.`)
  }
}

function isRead({ method }: HttpRequest): boolean {
  return method === 'GET' || method === 'HEAD'
}

/** The common prefix of OpenAI API paths. */
export const INFERENCE_PREFIX = '/v1/'

/** The path into one handler, for requests that are known to be for it. */
export function inferenceDoor({ handler, guard }: Pick<InferenceRoom, 'handler' | 'guard'>): ExchangeHandler {
  return (request, response) => {
    let caller: Caller
    try {
      caller = allowInference(request, guard)
    } catch (thrown) {
      if (!(thrown instanceof AppError)) throw thrown
      return sendApiError(request, response, thrown)
    }
    return handler(request, response, caller)
  }
}

/** The same, with refusals in Ollama's format. */
function ollamaDoor({ ollama, guard }: Pick<InferenceRoom, 'ollama' | 'guard'>): ExchangeHandler {
  return (request, response) => {
    let caller: Caller
    try {
      caller = allowInference(request, guard)
    } catch (thrown) {
      if (!(thrown instanceof AppError)) throw thrown
      return sendOllamaError(response, thrown)
    }
    return ollama(request, response, caller)
  }
}

/** Refuses WebSocket requests before the gateway is ready. */
export function refuseEarly(): void {
  throw starting()
}
