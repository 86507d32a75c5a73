import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from './config/options.ts'
import { hostAndPort, isLoopback } from '../platform/address.ts'
import { AppError } from '../platform/errors.ts'
import { fileProblem } from '../platform/file-problem.ts'
import { readTrust, type Trust } from '../platform/tls/trust.ts'

/** Which cluster a command talks to, and with which key. */
export interface Cluster {
  url: string
  key: string
  /** Words for where the key came from. */
  keyFrom: string
  /** The data folder of the frontend, when it runs on this machine. */
  folder: string | undefined
  /** Other machines cannot reach the frontend. False when we cannot know. */
  isLoopbackOnly: boolean
  /** How the frontend is recognised at an https address. */
  trust: Trust
  /** By which a machine that joins knows the frontend, when it has to be told. */
  fingerprint: string | undefined
}

/** The one that is named, else the one that runs on this machine with this data folder. */
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
  // The key of one cluster is nothing to send to another.
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

/** What was said counts; else on this machine the frontend itself has said which certificate it shows. */
function trustIn({ ca, fingerprint }: Pick<Config, 'ca' | 'fingerprint'>, local: string | undefined): Trust {
  if (ca !== undefined || fingerprint !== undefined) return readTrust(ca, fingerprint)
  return local === undefined ? {} : { fingerprints: [local] }
}

/** The frontend that runs with this data folder; it writes the file when it serves and removes it when it ends. */
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
    // Told below: whatever it holds, it is not what a frontend writes.
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
