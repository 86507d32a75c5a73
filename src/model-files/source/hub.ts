import { z } from 'zod'
import { AppError } from '../../platform/errors.ts'
import { ask, jsonOf, type AskDeps } from './ask.ts'
import { showUrl } from './http-get.ts'
import { judgeAnswer } from './judge-answer.ts'
import type { Located } from './wanted.ts'
import type { Reach } from './reach.ts'
import { isSafePath } from './safe-path.ts'
import type { HubSource } from './source.ts'

/** Hugging Face, or a mirror of it. */
export interface Hub {
  endpoint: string
  token: string | undefined
  /** Where URLs and redirects may point to; the public internet only, if undefined. */
  reach?: Reach
}

export interface HubFile {
  path: string
  size: number | undefined
  /** Known for large files only. */
  sha256: string | undefined
}

const MOST_FILES = 10_000
const MOST_PAGES = 200

const page = z.array(
  z.object({
    type: z.string(),
    path: z.string(),
    size: z.int().nonnegative().optional(),
    lfs: z.object({ oid: z.string(), size: z.int().nonnegative() }).partial().nullish(),
  }),
)

/** The URL of a file in a repository. The token is for the endpoint; the files themselves are often on another host. */
export function locateOnHub(hub: Hub, { repository, revision }: HubSource, path: string): Located {
  return locate(hub, `${repository}/resolve/${encodeURIComponent(revision)}/${escapePath(path)}`)
}

/** Every file of a repository. */
export async function listRepository(
  hub: Hub,
  source: HubSource,
  deps: AskDeps,
  signal: AbortSignal,
): Promise<HubFile[]> {
  const { repository, revision } = source
  const {
    url,
    credentials,
    isOurs = false,
  } = locate(hub, `api/models/${repository}/tree/${encodeURIComponent(revision)}?recursive=true`)
  const label = showUrl(url)
  const files: HubFile[] = []
  for (let pages = 0; ; pages += 1) {
    const { entries, next } = await ask(
      label,
      deps,
      signal,
      async () => ({ url, credentials, isOurs }),
      async (answer) => ({
        entries: page.safeParse(await jsonOf(answer, label, deps.clock.nowMs())),
        next: nextPage(answer.headers.link),
      }),
    )
    if (!entries.success)
      throw new AppError('bad_gateway', `${label} answered with something that is not a list of files.`)
    for (const entry of entries.data) if (entry.type === 'file') files.push(fileOf(entry, repository))
    if (files.length > MOST_FILES || pages >= MOST_PAGES) {
      throw new AppError('bad_gateway', `${repository} has more than ${MOST_FILES} files. Name the one that is wanted.`)
    }
    if (next === undefined) break
    // Takes only the query: mirrors pass on links to the original host.
    url.search = next
  }
  if (files.length === 0) throw new AppError('not_found', `The repository ${repository} has no files at ${revision}.`)
  return files
}

/** Size and digest of one file, from the endpoint itself, without following the redirect to the file. */
export function describeHubFile(
  hub: Hub,
  source: HubSource,
  path: string,
  deps: AskDeps,
  signal: AbortSignal,
): Promise<HubFile> {
  const { url, credentials, isOurs = false } = locateOnHub(hub, source, path)
  const label = showUrl(url)
  const question = { url, credentials, isOurs, method: 'HEAD' as const, stayOnHost: true }
  return ask(
    label,
    deps,
    signal,
    async () => question,
    async (answer) => {
      const { status, headers } = answer
      // A plain file server in place of the hub may not support HEAD; the transfer then finds out.
      if (status === 405 || status === 501) return { path, size: undefined, sha256: undefined }
      if (status >= 400) judgeAnswer(answer, label, deps.clock.nowMs())
      const linked = headers['x-linked-size'] ?? (status === 200 ? headers['content-length'] : undefined)
      const size = /^\d+$/.test(String(linked)) ? Number(linked) : undefined
      return { path, size, sha256: digestOf(headers['x-linked-etag']) }
    },
  )
}

function locate({ endpoint, token }: Hub, path: string): Located {
  const credentials: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` }
  return { url: new URL(`${endpoint.replace(/\/+$/, '')}/${path}`), credentials, isOurs: true }
}

function escapePath(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/')
}

function nextPage(link: string | string[] | undefined): string | undefined {
  const next = /<([^>]+)>\s*;\s*rel="?next"?/.exec(String(link ?? ''))?.[1]
  return next === undefined ? undefined : URL.parse(next, 'http://hub')?.search
}

function fileOf({ path, size, lfs }: z.infer<typeof page>[number], repository: string): HubFile {
  if (!isSafePath(path)) {
    const name = JSON.stringify(path.slice(0, 200))
    throw new AppError('bad_gateway', `${repository} has a file whose name cannot be used here: ${name}.`)
  }
  return { path, size: lfs?.size ?? size, sha256: digestOf(lfs?.oid) }
}

function digestOf(text: string | string[] | undefined): string | undefined {
  return /^(?:W\/)?"?(?:sha256:)?([0-9a-f]{64})"?$/.exec(String(text))?.[1]
}
