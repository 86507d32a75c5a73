import type { IncomingMessage, ServerResponse } from 'node:http'
import type { z } from 'zod'
import { adminRoutes, type AdminRouteName } from '../api/admin/routes.ts'
import { AppError } from '../platform/errors.ts'
import { parseJson, pathOf, readBody, sendJson, type Handler } from '../platform/http.ts'
import { matchRoute } from '../platform/routes.ts'
import type { Answer, Answers, Params } from './api/answers.ts'
import { authorize } from './api/authorize.ts'
import { capAnswers } from './api/caps.ts'
import type { AdminDeps } from './api/deps.ts'
import { firstEventOf } from './api/first-event.ts'
import { labelAnswers } from './api/labels.ts'
import { modelAnswers } from './api/models.ts'
import { nodeSelfAnswers } from './api/node-self.ts'
import { nodeAnswers } from './api/nodes.ts'
import { openapiDocument } from './api/openapi.ts'
import { tokenAnswers } from './api/tokens.ts'
import { checkProtocol } from './registration.ts'

const MOST_BODY_BYTES = 1024 * 1024

type Stream = 'streamEvents'

/** Serves everything under `/api/`: the routes are data, the files in `api/` say what each of them does. */
export function adminApi(deps: AdminDeps): Handler {
  const answers = adminAnswers(deps)
  const streams = adminStreams(deps)
  const routes = (Object.keys(adminRoutes) as AdminRouteName[]).map((name) => ({ name, ...adminRoutes[name] }))
  return async (request, response) => {
    const path = pathOf(request)
    const match = matchRoute(routes, request.method ?? 'GET', path)
    if (!('route' in match)) throw unmatched(path, request.method ?? 'GET', match.allowed)
    const { route, params } = match
    const caller = await authorize(request, route.auth, params, deps)
    if (route.name === 'streamEvents') return streams[route.name](request, response)
    const body = 'body' in route ? parseBody(route, await readBody(request, MOST_BODY_BYTES)) : undefined
    const answer = answers[route.name] as Answer<AdminRouteName>
    sendJson(response, 200, await answer(body as never, params as Params, caller))
  }
}

function adminAnswers(deps: AdminDeps): Answers<Exclude<AdminRouteName, Stream>> {
  return {
    ...nodeSelfAnswers(deps),
    ...nodeAnswers(deps),
    ...labelAnswers(deps),
    ...capAnswers(deps),
    ...modelAnswers(deps),
    ...tokenAnswers(deps),
    openapi: async () => openapiDocument(),
  }
}

function adminStreams({ events }: AdminDeps) {
  return {
    streamEvents: (request: IncomingMessage, response: ServerResponse) =>
      events.stream(response, firstEventOf(request)),
  } satisfies Record<Stream, unknown>
}

function unmatched(path: string, method: string, allowed: string[]): AppError {
  if (allowed.length === 0) return new AppError('not_found', `There is nothing at ${path}.`)
  return new AppError('method_not_allowed', `${path} does not take ${method}. It takes: ${allowed.join(', ')}.`)
}

function parseBody({ name, body }: { name: AdminRouteName; body: z.ZodType }, bytes: Buffer): unknown {
  const json = parseJson(bytes)
  if (name === 'registerNode') checkProtocol(json)
  const result = body.safeParse(json)
  if (result.success) return result.data
  const problems = result.error.issues.map(({ path, message }) => `${path.join('.') || 'the body'}: ${message}`)
  throw new AppError('bad_request', problems.join('; '), {
    details: { param: result.error.issues[0]?.path.join('.') ?? null },
  })
}
