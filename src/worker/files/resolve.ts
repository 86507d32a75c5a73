import { posix } from 'node:path'
import { resolveHub, resolveUrl, type HubDeps, type Resolved } from '../../model-files/source/resolve.ts'
import type { FrontendSource, RemoteSource } from '../../model-files/source/source.ts'
import { splitParts } from '../../model-files/source/split-parts.ts'
import { together } from '../../model-files/source/together.ts'
import type { Wanted } from '../../model-files/source/wanted.ts'
import { AppError } from '../../platform/errors.ts'
import { locateOnFrontend, lookAtFrontend, type FrontendFiles } from './frontend-files.ts'

export interface ResolveDeps extends HubDeps {
  frontend: FrontendFiles
}

/** Which files a source consists of, and where they are. */
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
