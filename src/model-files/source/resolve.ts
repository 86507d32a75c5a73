import { posix } from 'node:path'
import type { AskDeps } from './ask.ts'
import { showUrl } from './http-get.ts'
import { describeHubFile, listRepository, locateOnHub, type Hub, type HubFile } from './hub.ts'
import type { HubSource, UrlSource } from './source.ts'
import { splitParts } from './split-parts.ts'
import { together } from './together.ts'
import type { Turns } from './turns.ts'
import type { Wanted } from './wanted.ts'

/** The files of a source, and where they are. */
export interface Resolved {
  files: Wanted[]
  /** The path of the main file; null: the folder is used. */
  main: string | null
}

export interface HubDeps extends AskDeps {
  hub: Hub
  /** Limits concurrent requests. */
  questions: Turns
}

export function resolveUrl({ url, fileName, sha256 }: UrlSource): Resolved {
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

export async function resolveHub(source: HubSource, deps: HubDeps, signal: AbortSignal): Promise<Resolved> {
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
