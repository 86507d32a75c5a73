import { hash } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { extname, join } from 'node:path'
import { pathOf } from '../../http/server.ts'

/** Answers requests for the dashboard's page and its files; false when the request is for something else. */
export type Dashboard = (request: IncomingMessage, response: ServerResponse) => boolean

/**
 * The dashboard as it was built into a folder. Paths are looked up in a table of its files, so that no path can lead
 * anywhere else. The page itself is checked at each visit: a new build is served without a restart.
 */
export function openDashboard(folder: string): Dashboard {
  let files: Files = new Map()
  let readAtMs: number | undefined

  /** Undefined when there is no build yet. */
  const page = (): File | undefined => {
    const builtAtMs = statSync(join(folder, 'index.html'), { throwIfNoEntry: false })?.mtimeMs
    if (builtAtMs !== readAtMs) files = builtAtMs === undefined ? new Map() : listFiles(folder)
    readAtMs = builtAtMs
    return files.get('/index.html')
  }

  return (request, response) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') return false
    const path = pathOf(request)
    if (path === '/' || isRoute(path, request)) {
      const index = page()
      if (!index || !send(request, response, index)) sendMissing(request, response)
      return true
    }
    // A browser asks for files only after the page, unless it has the page from before our start.
    if (readAtMs === undefined) page()
    const file = path === '/index.html' ? undefined : files.get(path)
    return file !== undefined && send(request, response, file)
  }
}

/** By request path. */
type Files = Map<string, File>

interface File {
  path: string
  type: string
  /** Its name changes with its content, so a browser never needs to ask again. */
  isImmutable: boolean
  /** Compressed variants that the build has left beside it. */
  encodings: ('br' | 'gzip')[]
  /** By encoding, read at the first request; together they are well below 2 MB. */
  contents: Map<string, Content>
}

interface Content {
  bytes: Buffer
  tag: string
}

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.map': 'application/json',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.txt': 'text/plain; charset=utf-8',
  '.woff2': 'font/woff2',
  '.webmanifest': 'application/manifest+json',
}
const SUFFIXES = { br: '.br', gzip: '.gz' } as const

function listFiles(folder: string): Files {
  const names = new Set(readdirSync(folder, { recursive: true, encoding: 'utf8' }))
  const files: Files = new Map()
  for (const name of names) {
    const type = TYPES[extname(name)]
    // Files of an unfinished build, and stamps.
    if (type === undefined || name.startsWith('.')) continue
    const encodings = (['br', 'gzip'] as const).filter((encoding) => names.has(name + SUFFIXES[encoding]))
    const isImmutable = name.startsWith('assets/')
    files.set(`/${name}`, { path: join(folder, name), type, isImmutable, encodings, contents: new Map() })
  }
  return files
}

const NOT_OURS = /^\/(v1|api|healthz|readyz|metrics|assets)(\/|$)/

/**
 * Pages have addresses that only the dashboard knows, such as /nodes/gpu-1, and a browser that opens one gets the page.
 * Other programs get a 404: only browsers ask for HTML. Names of models contain dots, so only the extensions of our own
 * files mark a file.
 */
function isRoute(path: string, { headers }: IncomingMessage): boolean {
  return headers.accept?.includes('text/html') === true && !NOT_OURS.test(path) && TYPES[extname(path)] === undefined
}

/**
 * Scripts and styles load only from our own files: markup injected into a page cannot run. No other site may frame the
 * page.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "object-src 'none'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'self'",
].join('; ')

const SAFE = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}

/** False when the file no longer exists: another build has replaced it. */
function send(request: IncomingMessage, response: ServerResponse, file: File): boolean {
  const encoding = file.encodings.find((one) => accepts(request, one))
  const content = contentOf(file, encoding)
  if (!content) return false
  const { bytes, tag } = content
  const headers = {
    ...SAFE,
    'content-type': file.type,
    'cache-control': file.isImmutable ? 'public, max-age=31536000, immutable' : 'no-cache',
    etag: tag,
    ...(file.encodings.length > 0 ? { vary: 'accept-encoding' } : {}),
  }
  if (isKnown(request, tag)) {
    response.writeHead(304, headers).end()
    return true
  }
  const encoded = encoding === undefined ? {} : { 'content-encoding': encoding }
  response.writeHead(200, { ...headers, ...encoded, 'content-length': bytes.length })
  response.end(request.method === 'HEAD' ? undefined : bytes)
  return true
}

function contentOf({ path, contents }: File, encoding: 'br' | 'gzip' | undefined): Content | undefined {
  const known = contents.get(encoding ?? '')
  if (known) return known
  try {
    const bytes = readFileSync(encoding === undefined ? path : path + SUFFIXES[encoding])
    const content = { bytes, tag: `"${hash('sha256', bytes, 'hex').slice(0, 32)}"` }
    contents.set(encoding ?? '', content)
    return content
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** `gzip;q=0` means that the client does not want it. */
function accepts({ headers }: IncomingMessage, encoding: string): boolean {
  const offers = (headers['accept-encoding'] ?? '').split(',')
  return offers.some((offer) => {
    const [name, ...parameters] = offer.split(';').map((part) => part.trim().toLowerCase())
    return name === encoding && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter))
  })
}

function isKnown({ headers }: IncomingMessage, tag: string): boolean {
  const known = headers['if-none-match']?.split(',').map((one) => one.trim().replace(/^W\//, ''))
  return known !== undefined && (known.includes(tag) || known.includes('*'))
}

const MISSING = `<!doctype html>
<meta charset="utf-8">
<title>Flotilla</title>
<h1>Flotilla is serving; its dashboard was not built</h1>
<p>Build it with <code>npm run build:ui</code> in the folder of Flotilla and load this page again.</p>
<p>The API and <code>flotilla status</code> work without it.</p>
`

function sendMissing(request: IncomingMessage, response: ServerResponse): void {
  const headers = { ...SAFE, 'content-type': TYPES['.html'], 'cache-control': 'no-store' }
  response.writeHead(503, { ...headers, 'content-length': Buffer.byteLength(MISSING) })
  response.end(request.method === 'HEAD' ? undefined : MISSING)
}
