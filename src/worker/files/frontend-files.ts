import { folderView } from '../../api/admin/schemas.ts'
import { ask, jsonOf, type AskDeps } from '../../model-files/source/ask.ts'
import { judgeAnswer } from '../../model-files/source/judge-answer.ts'
import { Interruption } from '../../model-files/source/persist.ts'
import { isSafePath } from '../../model-files/source/safe-path.ts'
import { unlessAborted } from '../../model-files/source/unless-aborted.ts'
import { AppError, messageOf } from '../../platform/errors.ts'
import type { Trust } from '../../platform/tls/trust.ts'

/**
 * Access to the models folder of the cluster's frontends. The implementation signs the calls and chooses the frontend.
 */
export interface FrontendFiles {
  /**
   * What to GET for a path below the folder; `headers` go to that host only. `attempt` counts from 0, so that the next
   * one can go to another frontend.
   */
  locate(
    path: string,
    options: { attempt: number; signal: AbortSignal },
  ): Promise<{ url: URL; headers: Record<string, string>; trust?: Trust | undefined }>
}

export type FrontendEntry =
  | { kind: 'file'; size: number | undefined }
  /** Paths are relative to the folder. */
  | { kind: 'folder'; files: { path: string; size: number }[] }

const MOST_FILES = 10_000

/** Where a frontend serves a file now. When no frontend answers, the caller may try again. */
export async function locateOnFrontend(
  frontend: FrontendFiles,
  path: string,
  attempt: number,
  signal: AbortSignal,
): Promise<{ url: URL; credentials: Record<string, string>; trust: Trust | undefined; isOurs: true }> {
  try {
    const { url, headers, trust } = await unlessAborted(frontend.locate(path, { attempt, signal }), signal)
    return { url, credentials: headers, trust, isOurs: true }
  } catch (error) {
    if (error instanceof AppError && error.status < 500) throw error
    throw new Interruption(messageOf(error))
  }
}

/**
 * Whether a path is a file or a folder, and the folder's files: a frontend answers with bytes, or with JSON for a
 * folder.
 */
export function lookAtFrontend(
  frontend: FrontendFiles,
  path: string,
  deps: AskDeps,
  signal: AbortSignal,
): Promise<FrontendEntry> {
  const label = `frontend:${path}`
  return ask(
    label,
    deps,
    signal,
    (attempt) => locateOnFrontend(frontend, path, attempt, signal),
    async (answer) => {
      const { status, headers } = answer
      if (status !== 200) judgeAnswer(answer, label, deps.clock.nowMs())
      if (!/^application\/json\b/.test(headers['content-type'] ?? '')) {
        const size = headers['content-length']
        return { kind: 'file', size: size === undefined ? undefined : Number(size) }
      }
      const folder = folderView.safeParse(await jsonOf(answer, label, deps.clock.nowMs()))
      if (!folder.success) throw new AppError('bad_gateway', `The frontend's list of files in ${label} is not one.`)
      return { kind: 'folder', files: checked(folder.data.files, label) }
    },
  )
}

function checked<T extends { path: string }>(files: T[], label: string): T[] {
  if (files.length === 0) throw new AppError('not_found', `The folder ${label} is empty.`)
  if (files.length > MOST_FILES)
    throw new AppError('bad_request', `The folder ${label} has more than ${MOST_FILES} files.`)
  const odd = files.find(({ path }) => !isSafePath(path))
  if (!odd) return files
  const name = JSON.stringify(odd.path.slice(0, 200))
  throw new AppError('bad_gateway', `The folder ${label} has a file whose name cannot be used here: ${name}.`)
}
