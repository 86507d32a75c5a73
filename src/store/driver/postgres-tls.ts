import { readFileSync } from 'node:fs'
import { checkServerIdentity, type ConnectionOptions, type PeerCertificate } from 'node:tls'
import { AppError, messageOf } from '../../platform/errors.ts'
import { serverOf } from './postgres-url.ts'

/** What is passed to the driver: the URL as far as it understands it, and how to encrypt when it does not. */
export interface PostgresTls {
  url: string
  ssl?: ConnectionOptions
}

const OURS = ['sslmode', 'sslrootcert', 'sslcert', 'sslkey'] as const

/**
 * `sslmode`, `sslrootcert`, `sslcert` and `sslkey` of a database URL, as PostgreSQL's own clients mean them. The driver knows
 * the modes without files by itself; the files it would take for settings of the server.
 */
export function postgresTls(text: string): PostgresTls {
  const [before = '', query = ''] = text.split(/\?(.*)/s)
  const params = new URLSearchParams(query)
  const [mode = '', root, cert, key] = OURS.map((name) => params.get(name) ?? undefined)
  const needsUs = mode.startsWith('verify-') || root !== undefined || cert !== undefined || key !== undefined
  if (!needsUs || mode === 'disable') return { url: mode === 'disable' ? without(before, params) : text }
  // With a root certificate `require` also verifies the server's certificate, as in PostgreSQL's own clients.
  const isChecked = mode.startsWith('verify-') || root !== undefined
  const hosts = serverOf(text)
    .split(',')
    .map((host) => host.replace(/:\d+$/, '').replace(/^\[|\]$/g, ''))
  const ssl: ConnectionOptions = {
    rejectUnauthorized: isChecked,
    checkServerIdentity: (_, shown) => (mode === 'verify-full' ? checkHosts(hosts, shown) : undefined),
    ...(root === undefined || root === 'system' ? {} : { ca: read('sslrootcert', root) }),
    ...(cert === undefined ? {} : { cert: read('sslcert', cert) }),
    ...(key === undefined ? {} : { key: read('sslkey', key) }),
  }
  return { url: without(before, params), ssl }
}

/** Any of them: which one was connected to is the driver's to know. */
function checkHosts(hosts: readonly string[], shown: PeerCertificate): Error | undefined {
  const problems = hosts.map((host) => checkServerIdentity(host, shown))
  return problems.includes(undefined) ? undefined : problems[0]
}

function without(before: string, params: URLSearchParams): string {
  for (const name of OURS) params.delete(name)
  return params.size === 0 ? before : `${before}?${params.toString()}`
}

function read(name: string, file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new AppError('usage', `${name} of the database URL cannot be read: ${messageOf(error)}.`, { cause: error })
  }
}
