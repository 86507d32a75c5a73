import { readFileSync } from 'node:fs'
import { AppError, messageOf } from '../../platform/errors.ts'
import { fileProblem } from '../../platform/file-problem.ts'
import { requestJson, StrangeAnswerError } from '../../http/client.ts'

const TIMEOUT_MS = 30_000

/** The JSON of another server at a path. Errors name the address and the remedy. */
export async function fetchJson(base: string, path: string, key: string | undefined, what: string): Promise<unknown> {
  if (!URL.canParse(base) || !/^https?:/.test(base)) {
    throw new AppError('usage', `flotilla import: --url: expected an address such as http://host:8080, got "${base}".`)
  }
  const url = new URL(path, base.endsWith('/') ? base : `${base}/`)
  const request = { method: 'GET' as const, timeoutMs: TIMEOUT_MS, ...(key === undefined ? {} : { token: key }) }
  try {
    const { status, body } = await requestJson(url, request)
    if (status === 200) return body
    throw refused(url, status, what)
  } catch (error) {
    if (error instanceof AppError) throw error
    if (error instanceof StrangeAnswerError) throw refused(url, error.status, what)
    const text = `Cannot reach ${what} at ${url.origin}: ${messageOf(error)}. Check --url, and that it runs.`
    throw new AppError('unavailable', text, { cause: error })
  }
}

/** A key is never passed on the command line, where other users could see it. */
export function readKeyFile(path: string | undefined): string | undefined {
  if (path === undefined) return undefined
  try {
    return readFileSync(path, 'utf8').trim()
  } catch (error) {
    throw new AppError('usage', `Cannot read the key in ${path}: ${fileProblem(error)}.`, { cause: error })
  }
}

function refused(url: URL, status: number, what: string): AppError {
  const hint =
    status === 401 || status === 403
      ? `it wants the key of an admin: --key-file names a file that holds one`
      : `is ${what} there, and does it have this API?`
  return new AppError('bad_gateway', `${url.origin}${url.pathname} answered with status ${status}: ${hint}.`)
}
