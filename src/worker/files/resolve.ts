import { posix } from 'node:path'
import { AppError } from '../../platform/errors.ts'
import type { AskDeps } from './ask.ts'
import { locateOnFrontend, lookAtFrontend, type FrontendFiles } from './frontend-files.ts'
import { showUrl } from './http-get.ts'
import { describeHubFile, listRepository, locateOnHub, type Hub, type HubFile } from './hub.ts'
import type { FrontendSource, HubSource, RemoteSource, UrlSource } from './source.ts'
import { splitParts } from './split-parts.ts'
import { together } from './together.ts'
import type { Turns } from './turns.ts'
import type { Wanted } from './wanted.ts'

export interface Resolved {
  files: Wanted[]
  /** The path of the file that stands for all; null: the folder does. */
  main: string | null
}

export interface ResolveDeps extends AskDeps {
  hub: Hub
  frontend: FrontendFiles
  /** Questions at the same time. */
  questions: Turns
}

/** Which files a source means, and where they are. */
export async function resolveSource(source: RemoteSource, deps: ResolveDeps, signal: AbortSignal): Promise<Resolved> {
  const resolved =
    source.kind === 'url'
      ? resolveUrl(source)
      : source.kind === 'hub'
        ? await resolveHub(source, deps, signal)
        : await resolveFrontend(source, deps, signal)
  refuseDoubles(resolved.files)
  return resolved
}

function resolveUrl({ url, fileName, sha256 }: UrlSource): Resolved {
  const parts = splitParts(fileName)
  const files = parts.map((name) => {
    const at = new URL(url)
    if (name !== fileName) at.pathname = at.pathname.replace(/[^/]*$/, encodeURIComponent(name))
    return {
      path: name,
      label: showUrl(at),
      key: at.href,
      size: undefined,
      sha256: name === fileName ? sha256 : undefined,
      locate: async () => ({ url: at, credentials: {} }),
    }
  })
  return { files, main: parts[0] }
}

async function resolveHub(source: HubSource, deps: ResolveDeps, signal: AbortSignal): Promise<Resolved> {
  const { hub } = deps
  const wanted = ({ path, size, sha256 }: HubFile, name: string): Wanted => {
    const { url } = locateOnHub(hub, source, path)
    const known = path === source.path ? (source.sha256 ?? sha256) : sha256
    const locate = async () => locateOnHub(hub, source, path)
    return { path: name, label: showUrl(url), key: url.href, size, sha256: known, locate }
  }
  if (source.path === undefined) {
    const files = await listRepository(hub, source, deps, signal)
    return { files: files.map((file) => wanted(file, file.path)), main: null }
  }
  const parts = splitParts(source.path)
  const describe = (path: string) => (signal: AbortSignal) =>
    deps.questions.run(signal, () => describeHubFile(hub, source, path, deps, signal))
  const files = await together(parts.map(describe), signal)
  return { files: files.map((file) => wanted(file, posix.basename(file.path))), main: posix.basename(parts[0]) }
}

async function resolveFrontend(source: FrontendSource, deps: ResolveDeps, signal: AbortSignal): Promise<Resolved> {
  const { frontend } = deps
  const wanted = (path: string, name: string, size: number | undefined, sha256: string | undefined): Wanted => {
    const locate = (attempt: number, signal: AbortSignal) => locateOnFrontend(frontend, path, attempt, signal)
    return { path: name, label: `frontend:${path}`, key: `frontend:${path}`, size, sha256, locate }
  }
  const look = (path: string) => (signal: AbortSignal) =>
    deps.questions.run(signal, async () => ({ path, entry: await lookAtFrontend(frontend, path, deps, signal) }))
  const parts = splitParts(source.path)
  const entries = await together(parts.map(look), signal)
  const files = entries.flatMap(({ path, entry }) => {
    const sha256 = path === source.path ? source.sha256 : undefined
    if (entry.kind === 'file') return [wanted(path, posix.basename(path), entry.size, sha256)]
    if (sha256 !== undefined) {
      throw new AppError('bad_request', `#sha256= needs a single file, and frontend:${path} is a folder.`)
    }
    return entry.files.map((file) => wanted(`${path}/${file.path}`, file.path, file.size, undefined))
  })
  const isFile = entries.every(({ entry }) => entry.kind === 'file')
  return { files, main: isFile ? posix.basename(parts[0]) : null }
}

function refuseDoubles(files: readonly Wanted[]): void {
  const paths = new Set<string>()
  for (const { path } of files) {
    if (paths.has(path)) throw new AppError('bad_gateway', `The file ${path} is listed twice.`)
    paths.add(path)
  }
}
