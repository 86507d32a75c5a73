import { readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { extname, join } from 'node:path'
import { sendApiError } from './gateway/api-errors.ts'
import { allowInference, type Caller, type GuardDeps } from './gateway/guard.ts'
import { AppError } from './platform/errors.ts'
import { sendHealth, type Check } from './platform/health.ts'
import { pathOf, type Handler, type UpgradeHandler } from './platform/http.ts'
import { projectFolder } from './platform/version.ts'

/** A handler that is told who asks. */
export type InferenceHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  caller: Caller,
) => Promise<void> | void

export interface Rooms {
  inference?: { handler: InferenceHandler; guard: GuardDeps }
  /** Missing where there is no control plane: in a gateway on its own. */
  admin?: Handler
  checks: Record<string, Check>
  /** What whoever looks should know, although everything works. */
  notes?: Record<string, Check>
}

/** The one HTTP listener of a frontend: every request comes in here and is shown to the right room. */
export function frontDoor({ inference, admin, checks, notes }: Rooms): Handler {
  return (request, response) => {
    const path = pathOf(request)
    if (path === '/healthz' || path === '/readyz') return sendHealth(path, response, checks, notes)
    if (path.startsWith('/v1/') && inference) return letIn(inference, request, response)
    if (path.startsWith('/api/') && admin) return admin(request, response)
    // The page shows what the admin API says, so it is of no use without one.
    const page = admin || !inference ? pages.get(path) : undefined
    if (page && (request.method === 'GET' || request.method === 'HEAD')) return sendPage(response, page)
    if (!inference) throw starting()
    const where = admin ? 'the admin API under /api/' : 'the admin API at a frontend'
    throw new AppError('not_found', `There is nothing at ${path}. The OpenAI API is under /v1/, ${where}.`)
  }
}

/** For those who want to speak WebSocket before anybody is there. */
export const refuseUpgrade: UpgradeHandler = () => {
  throw starting()
}

function starting(): AppError {
  return new AppError('unavailable', 'Flotilla is starting. Try again in a moment.', { retryAfterS: 1 })
}

function letIn(
  { handler, guard }: NonNullable<Rooms['inference']>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> | void {
  let caller: Caller
  try {
    caller = allowInference(request, guard)
  } catch (thrown) {
    if (!(thrown instanceof AppError)) throw thrown
    return sendApiError(request, response, thrown)
  }
  return handler(request, response, caller)
}

interface Page {
  type: string
  content: Buffer
}

const TYPES: Record<string, string> = {
  '.html': 'text/html',
  '.css': 'text/css',
  '.js': 'text/javascript',
  '.svg': 'image/svg+xml',
}

/** Read once at start: a few kilobytes. */
const pages = new Map<string, Page>(
  ['index.html', 'page.css', 'page.js', 'icon.svg'].map((name) => {
    const page = { type: TYPES[extname(name)]!, content: readFileSync(join(projectFolder, 'ui', name)) }
    return [name === 'index.html' ? '/' : `/${name}`, page]
  }),
)

function sendPage(response: ServerResponse, { type, content }: Page): void {
  response.writeHead(200, {
    'content-type': `${type}; charset=utf-8`,
    'content-length': content.length,
    'cache-control': 'no-cache',
    'content-security-policy': "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
  })
  response.end(content)
}
