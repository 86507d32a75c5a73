import { readFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { extname, join } from 'node:path'
import { allowInference } from './gateway/guard.ts'
import { AppError } from './platform/errors.ts'
import { sendHealth, type Check } from './platform/health.ts'
import { pathOf, type Handler } from './platform/http.ts'
import { projectFolder } from './platform/version.ts'

export interface Rooms {
  inference?: Handler
  admin?: Handler
  adminKey?: string
  checks: Record<string, Check>
  /** What whoever looks should know, although everything works. */
  notes?: Record<string, Check>
}

/** The one HTTP listener of a frontend: every request comes in here and is shown to the right room. */
export function frontDoor({ inference, admin, adminKey, checks, notes }: Rooms): Handler {
  return (request, response) => {
    const path = pathOf(request)
    if (path === '/healthz' || path === '/readyz') return sendHealth(path, response, checks, notes)
    if (path.startsWith('/v1/') && inference && adminKey) {
      allowInference(request, adminKey)
      return inference(request, response)
    }
    if (path.startsWith('/api/') && admin) return admin(request, response)
    const page = pages.get(path)
    if (page && (request.method === 'GET' || request.method === 'HEAD')) return sendPage(response, page)
    if (!inference)
      throw new AppError('unavailable', 'Flotilla is starting. Try again in a moment.', { retryAfterS: 1 })
    throw new AppError(
      'not_found',
      `There is nothing at ${path}. The OpenAI API is under /v1/, the admin API under /api/.`,
    )
  }
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
