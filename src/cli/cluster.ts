import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config/options.ts'
import { hostAndPort, isLoopback } from '../platform/address.ts'
import { AppError, messageOf } from '../platform/errors.ts'

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
}

/** The one that is named, else the one that runs on this machine with this data folder. */
export function findCluster({ url, key, data }: Pick<Config, 'url' | 'key' | 'data'>): Cluster {
  const local = readEndpoint(data)
  if (url === undefined && local === undefined) {
    const hint = 'Start one with flotilla up, or name one with --url and --key'
    throw new AppError('usage', `No cluster runs on this machine with the data folder ${data}. ${hint}.`)
  }
  const isLocal = local !== undefined && (url === undefined || new URL(url).origin === new URL(local.url).origin)
  const isLoopbackOnly = isLocal && isLoopback(hostAndPort(local.listen)?.host ?? '')
  const at = { url: url ?? local!.url, folder: isLocal ? data : undefined, isLoopbackOnly }
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

/** The frontend that runs with this data folder; it writes the file when it serves and removes it when it ends. */
function readEndpoint(data: string): { url: string; listen: string } | undefined {
  const path = join(data, 'endpoint.json')
  const text = readText(path)
  if (text === undefined) return undefined
  try {
    const { url, listen } = JSON.parse(text) as { url?: unknown; listen?: unknown }
    if (typeof url === 'string' && URL.canParse(url) && typeof listen === 'string') return { url, listen }
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
    const hint = code === 'EACCES' ? 'only the user that runs the frontend may read it' : messageOf(error)
    throw new AppError('usage', `Cannot read ${path}: ${hint}. Name a cluster with --url and --key.`, { cause: error })
  }
}
