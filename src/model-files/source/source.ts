import { isAbsolute, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { AppError } from '../../platform/errors.ts'
import { isSafeName, isSafePath } from './safe-path.ts'

/** The bundled models: they exist wherever the program runs. */
const BUNDLED_FOLDER = fileURLToPath(new URL('../../../models', import.meta.url))

/** Where files come from. `sha256` is the required digest of a single file. */
export type Source = LocalSource | RemoteSource

export interface LocalSource {
  kind: 'local'
  path: string
  sha256: string | undefined
}

export type RemoteSource = UrlSource | HubSource | FrontendSource

export interface UrlSource {
  kind: 'url'
  url: URL
  fileName: string
  sha256: string | undefined
}

export interface HubSource {
  kind: 'hub'
  /** `org/name`. */
  repository: string
  revision: string
  /** Undefined: every file of the repository. */
  path: string | undefined
  sha256: string | undefined
}

export interface FrontendSource {
  kind: 'frontend'
  /** A file or a folder below the frontend's models folder. */
  path: string
  sha256: string | undefined
}

/** Parses a source. Errors repeat nothing secret in it. */
export function parseSource(text: string): Source {
  const { bare, sha256 } = takeDigest(text)
  if (bare.startsWith('file:')) return { kind: 'local', path: localPath(bare), sha256 }
  if (bare.startsWith('bundled:')) return { kind: 'local', path: bundledPath(bare), sha256 }
  if (bare.startsWith('hf:')) return hubSource(bare, sha256)
  if (bare.startsWith('frontend:')) return { kind: 'frontend', path: frontendPath(bare), sha256 }
  if (/^https?:\/\//.test(bare)) return urlSource(bare, sha256)
  throw wrong(bare, 'it must begin with file:/, https://, hf:, frontend: or bundled:')
}

/** The source with possible secrets removed: a URL's user, query and fragment. */
export function showSource(text: string): string {
  return /^https?:/.test(text) ? text.replace(/[?#].*$/s, '').replace(/\/\/[^/]*@/, '//') : text
}

function takeDigest(text: string): { bare: string; sha256: string | undefined } {
  const at = text.lastIndexOf('#sha256=')
  if (at < 0) return { bare: text, sha256: undefined }
  const bare = text.slice(0, at)
  const sha256 = text.slice(at + '#sha256='.length).toLowerCase()
  if (!/^[0-9a-f]{64}$/.test(sha256)) throw wrong(bare, 'after #sha256= there must be 64 hexadecimal digits')
  return { bare, sha256 }
}

function localPath(text: string): string {
  const path = text.slice('file:'.length).replace(/^\/\/(?=\/)/, '')
  if (!isAbsolute(path) || path.startsWith('//'))
    throw wrong(text, 'it must be an absolute path, such as file:/models/a.gguf')
  if (path.includes('\0') || path.split('/').includes('..')) throw wrong(text, 'the path must not contain ".."')
  return path
}

function bundledPath(text: string): string {
  const path = text.slice('bundled:'.length)
  if (!isSafePath(path)) throw wrong(text, 'it must be a path below the models that come with Flotilla')
  return join(BUNDLED_FOLDER, path)
}

function hubSource(text: string, sha256: string | undefined): HubSource {
  const spec = text.slice('hf:'.length)
  // The last one: a revision cannot contain it, but a file's name may.
  const at = spec.lastIndexOf('@')
  const revision = at < 0 ? 'main' : spec.slice(at + 1)
  const [organization = '', name = '', ...path] = (at < 0 ? spec : spec.slice(0, at)).split('/')
  const isName = (part: string): boolean => /^[A-Za-z0-9._-]{1,96}$/.test(part) && isSafeName(part)
  if (!isName(organization) || !isName(name))
    throw wrong(text, 'it must be hf:organization/repository, then /file if wanted')
  if (!/^[A-Za-z0-9._/-]+$/.test(revision) || !isSafePath(revision))
    throw wrong(text, 'the revision after @ is not one')
  if (path.length > 0 && !isSafePath(path.join('/'))) throw wrong(text, 'the path of the file is not one')
  if (path.length === 0 && sha256) throw wrong(text, '#sha256= needs a single file, and this is a whole repository')
  const repository = `${organization}/${name}`
  return { kind: 'hub', repository, revision, path: path.length > 0 ? path.join('/') : undefined, sha256 }
}

function frontendPath(text: string): string {
  const path = text.slice('frontend:'.length).replace(/\/$/, '')
  if (!isSafePath(path))
    throw wrong(text, "it must be a path below the frontend's models folder, without .. and not from /")
  return path
}

function urlSource(text: string, sha256: string | undefined): UrlSource {
  const url = URL.parse(text)
  if (!url) throw wrong(text, 'it is not a URL')
  url.hash = ''
  const fileName = fileNameOf(url)
  if (fileName === undefined) throw wrong(text, 'the URL must end with the name of a file')
  return { kind: 'url', url, fileName, sha256 }
}

/** The last part of the path, which is the file's name on the server; undefined if it is not a valid name here. */
function fileNameOf(url: URL): string | undefined {
  try {
    const name = decodeURIComponent(url.pathname).split('/').at(-1)!
    return isSafeName(name) ? name : undefined
  } catch {
    return undefined
  }
}

function wrong(text: string, what: string): AppError {
  return new AppError('bad_request', `Cannot use ${JSON.stringify(showSource(text))} as a source of files: ${what}.`)
}
