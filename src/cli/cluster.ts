import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from './config/options.ts'
import { hostAndPort, isLoopback } from '../platform/address.ts'
import { AppError } from '../platform/errors.ts'
import { fileProblem } from '../platform/file-problem.ts'
import { readTrust, type Trust } from '../platform/tls/trust.ts'

/** The cluster that a command talks to, and the key for it. */
export interface Cluster {
  url: string
  key: string
  /** Says where the key came from. */
  keyFrom: string
  /** The data folder of the frontend, when it runs on this machine. */
  folder: string | undefined
  /** Other machines cannot reach the frontend. False when unknown. */
  isLoopbackOnly: boolean
  /** How to verify the frontend at an https address. */
  trust: Trust
  /** The certificate's fingerprint, if a joining machine needs it. */
  fingerprint: string | undefined
}

/** The named cluster, else the frontend of this data folder on this machine. */
export function findCluster(config: Pick<Config, 'url' | 'key' | 'data' | 'ca' | 'fingerprint'>): Cluster {
  const { url, key, data } = config
  const local = readEndpoint(data)
  if (url === undefined && local === undefined) {
    const hint = 'Start one with flotilla up, or name one with --url and --key'
    throw new AppError('usage', `No cluster runs on this machine with the data folder ${data}. ${hint}.`)
  }
  const isLocal = local !== undefined && (url === undefined || new URL(url).origin === new URL(local.url).origin)
  const trust = trustIn(config, isLocal ? local.fingerprint : undefined)
  const fingerprint = config.fingerprint?.join(',') ?? (isLocal && local.self_signed ? local.fingerprint : undefined)
  const isLoopbackOnly = isLocal && isLoopback(hostAndPort(local.listen)?.host ?? '')
  const at = { url: url ?? local!.url, folder: isLocal ? data : undefined, isLoopbackOnly, trust, fingerprint }
  if (key !== undefined) return { ...at, key, keyFrom: 'given with --key or FLOTILLA_KEY' }
  // One cluster's key must not be sent to another.
  if (!isLocal) throw new AppError('usage', `The admin key of ${url} is needed. ${WHERE_KEYS_ARE}`)
  const path = join(data, 'admin.key')
  const found = readText(path)
  if (found === undefined || found === '')
    throw new AppError('usage', `There is no admin key in ${path}. ${WHERE_KEYS_ARE}`)
  return { ...at, key: found, keyFrom: `in ${path}` }
}

export const WHERE_KEYS_ARE =
  "Give it with --key or FLOTILLA_KEY: it is in the file admin.key of the frontend's data folder."

interface Endpoint {
  url: string
  listen: string
  /** Of its certificate, when it has one. */
  fingerprint: string | undefined
  self_signed: boolean
}

/** The flags count first; else, on this machine, the frontend's own file says which certificate it shows. */
function trustIn({ ca, fingerprint }: Pick<Config, 'ca' | 'fingerprint'>, local: string | undefined): Trust {
  if (ca !== undefined || fingerprint !== undefined) return readTrust(ca, fingerprint)
  return local === undefined ? {} : { fingerprints: [local] }
}

/** The frontend of this data folder; it writes the file when it serves and removes it when it ends. */
function readEndpoint(data: string): Endpoint | undefined {
  const path = join(data, 'endpoint.json')
  const text = readText(path)
  if (text === undefined) return undefined
  try {
    const {
      url,
      listen,
      fingerprint,
      self_signed: selfSigned,
    } = JSON.parse(text) as { [K in keyof Endpoint]?: unknown }
    if (typeof url === 'string' && URL.canParse(url) && typeof listen === 'string') {
      const known = typeof fingerprint === 'string' ? fingerprint : undefined
      return { url, listen, fingerprint: known, self_signed: selfSigned === true }
    }
  } catch {
    // Reported below: the content is not what a frontend writes.
  }
  throw new AppError('usage', `${path} does not hold the URL of a frontend. Name one with --url and --key.`)
}

/** The text of a file, or nothing when there is no such file. */
export function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    const hint = code === 'EACCES' ? 'only the user that runs the frontend may read it' : fileProblem(error)
    throw new AppError('usage', `Cannot read ${path}: ${hint}. Name a cluster with --url and --key.`, { cause: error })
  }
}
