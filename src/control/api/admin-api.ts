import type { IncomingMessage } from 'node:http'
import type { z } from 'zod'
import { MOST_BODY_BYTES, type Route } from '../../api/admin/route.ts'
import { adminRoutes, type AdminRouteName, type AdminStreamName } from '../../api/admin/routes.ts'
import { AppError } from '../../platform/errors.ts'
import { originOf } from '../../http/server/request-origin.ts'
import { problemParam, problemText } from '../../platform/problem-text.ts'
import { parseJson, pathOf, readBody, sendJson, type Handler } from '../../http/server.ts'
import { matchRoute } from '../../http/server/match-route.ts'
import { WrongKeys } from '../../http/server/failure-throttle.ts'
import type { Answer, Answers, Gate, Params, Stream, Streams } from './answers.ts'
import { adminKeyAnswers } from './nouns/admin-key.ts'
import { authorize, type Caller } from './access/authorize.ts'
import { backendAnswers } from './nouns/nodes/engines.ts'
import { backupStreams } from './backup.ts'
import { capAnswers } from './nouns/nodes/node-limits.ts'
import { clusterAnswers } from './nouns/nodes/cluster.ts'
import type { AdminDeps } from './deps.ts'
import { eventAnswers, eventStreams } from './nouns/events.ts'
import { fileStreams } from './nouns/models/files.ts'
import { gatewayAnswers } from './nouns/gateways.ts'
import { keyAnswers } from './nouns/keys.ts'
import { labelAnswers } from './nouns/nodes/labels.ts'
import { liveStreams } from './nouns/live.ts'
import { logAnswers, logStreams } from './nouns/logs.ts'
import { metricAnswers, metricStreams } from './nouns/metrics.ts'
import { lossAnswers } from './nouns/nodes/accept-loss.ts'
import { modelExplainAnswers } from './nouns/models/model-explain.ts'
import { modelFileAnswers } from './nouns/models/model-files.ts'
import { modelInspectAnswers } from './nouns/models/model-inspect.ts'
import { modelLoadAnswers } from './nouns/models/model-loads.ts'
import { modelAnswers } from './nouns/models/models.ts'
import { nodeExplainAnswers } from './nouns/nodes/node-explain.ts'
import { nodeSelfAnswers } from './nouns/nodes/node-self.ts'
import { nodeAnswers } from './nouns/nodes/nodes.ts'
import { openapiDocument } from './openapi.ts'
import { planAnswers } from './nouns/plan.ts'
import { pullAnswers } from './nouns/models/pull.ts'
import { requestAnswers } from './nouns/requests.ts'
import { restartAnswers } from './nouns/models/restart.ts'
import { ruleAnswers } from './nouns/rules.ts'
import { endWhenRefused } from './access/recheck-auth.ts'
import { sessionAnswers, sessionGates } from './access/sessions.ts'
import { tokenAnswers } from './nouns/tokens.ts'
import { unloadAnswers } from './nouns/models/unload.ts'
import { actAs, addressOf } from '../changes/actor-context.ts'
import { OtherClusters } from '../joining/other-clusters.ts'
import { checkProtocol } from '../joining/registration.ts'

type AdminAnswerName = Exclude<AdminRouteName, AdminStreamName>

/** Without a key, a body is short, and has to be here within this time. With one, it may bring nothing for a minute. */
const KEYLESS_BODY_WITHIN_MS = 5000

/** Serves everything under `/api/`: the routes are data, the files in `api/` say what each of them does. */
export function adminApi(deps: AdminDeps): Handler {
  const answers = adminAnswers(deps)
  const wrongKeys = new WrongKeys(deps.clock)
  const others = new OtherClusters(deps)
  const gates: Readonly<Partial<Record<AdminRouteName, Gate>>> = sessionGates(deps)
  const streams: Readonly<Partial<Record<AdminRouteName, Stream>>> = adminStreams(deps)
  const routes = (Object.keys(adminRoutes) as AdminRouteName[]).map((name) => ({ name, ...adminRoutes[name] }))
  return async (request, response) => {
    const path = pathOf(request)
    const match = matchRoute(routes, request.method ?? 'GET', path)
    if (!('route' in match)) throw unmatched(path, request.method ?? 'GET', match.allowed)
    const { route, params } = match
    const foreign = deps.foreignStore?.()
    // The route that reports problems serves what was read last.
    if (foreign !== undefined && route.name !== 'showCluster') throw new AppError('unavailable', foreign)
    // Before its credentials are checked: its token and its node belong to its own cluster.
    if (route.auth === 'join' || route.auth === 'node') others.check(request)
    const caller = await authorize(request, route.auth, params, deps).catch((error: unknown) => {
      throw wrongKeys.judge(request, error)
    })
    const stream = streams[route.name]
    if (stream) {
      const isStillAllowed = (asked: IncomingMessage): Promise<unknown> => authorize(asked, route.auth, params, deps)
      if (route.auth === 'read') endWhenRefused(request, response, deps.clock, isStillAllowed)
      return stream(request, response, params as Params)
    }
    const attempt = gates[route.name]?.(request)
    let reply: unknown
    try {
      const body = await bodyOf(request, route, caller, deps)
      const answer = answers[route.name as AdminAnswerName] as Answer<AdminRouteName>
      const acting = { actor: caller.actor || 'admin', address: addressOf(request) }
      reply = await actAs(acting, () => answer(body as never, params as Params, caller))
    } catch (error) {
      attempt?.ended(error)
      throw error
    }
    attempt?.ended()
    sendJson(response, 200, reply, caller.answerHeaders)
  }
}

async function bodyOf(
  request: IncomingMessage,
  route: Route & { name: AdminRouteName },
  { actor }: Caller,
  { bodies }: AdminDeps,
): Promise<unknown> {
  const { name, auth, body, mostBodyBytes = MOST_BODY_BYTES } = route
  if (!body) return undefined
  const isKeyless = auth !== 'admin' && auth !== 'read'
  const room = bodies?.open(actor || originOf(request))
  try {
    const withinMs = isKeyless ? KEYLESS_BODY_WITHIN_MS : undefined
    return parseBody(name, body, await readBody(request, mostBodyBytes, { withinMs, room }))
  } finally {
    room?.release()
  }
}

function adminAnswers(deps: AdminDeps): Answers<AdminAnswerName> {
  return {
    ...nodeSelfAnswers(deps),
    ...nodeAnswers(deps),
    ...nodeExplainAnswers(deps),
    ...labelAnswers(deps),
    ...capAnswers(deps),
    ...unloadAnswers(deps),
    ...restartAnswers(deps),
    ...modelFileAnswers(deps),
    ...modelInspectAnswers(deps),
    ...pullAnswers(deps),
    ...backendAnswers(deps),
    ...logAnswers(deps),
    ...metricAnswers(deps),
    ...modelAnswers(deps),
    ...modelLoadAnswers(deps),
    ...modelExplainAnswers(deps),
    ...ruleAnswers(deps),
    ...planAnswers(deps),
    ...clusterAnswers(deps),
    ...lossAnswers(deps),
    ...tokenAnswers(deps),
    ...gatewayAnswers(deps),
    ...keyAnswers(deps),
    ...adminKeyAnswers(deps),
    ...requestAnswers(deps),
    ...eventAnswers(deps),
    ...sessionAnswers(deps),
    openapi: async () => openapiDocument(),
  }
}

function adminStreams(deps: AdminDeps): Streams<AdminStreamName> {
  return {
    ...eventStreams(deps),
    ...liveStreams(deps),
    ...logStreams(deps),
    ...metricStreams(deps),
    ...fileStreams(deps),
    ...backupStreams(deps),
  }
}

function unmatched(path: string, method: string, allowed: string[]): AppError {
  if (allowed.length === 0) return new AppError('not_found', `There is nothing at ${path}.`)
  const allow = [...new Set(allowed)]
  return new AppError('method_not_allowed', `${path} does not take ${method}. It takes: ${allow.join(', ')}.`, {
    allow,
  })
}

function parseBody(name: AdminRouteName, body: z.ZodType, bytes: Buffer): unknown {
  // Some may be missing.
  if (bytes.length === 0 && body.safeParse(undefined).success) return undefined
  const json = parseJson(bytes)
  if (name === 'registerNode') checkProtocol('worker', (json as { registration?: unknown } | null)?.registration)
  if (name === 'admitGateway') checkProtocol('gateway', json)
  const result = body.safeParse(json)
  if (result.success) return result.data
  const { issues } = result.error
  throw new AppError('bad_request', problemText(issues, 'the body'), { details: { param: problemParam(issues) } })
}
