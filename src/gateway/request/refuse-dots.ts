import { AppError } from '../../platform/errors.ts'

/** An engine may have more to offer than what is under `/v1/`, and some would find it by a path like this. */
export function refuseDots(path: string): void {
  if (!/(\/|%2f|\\|%5c)(\.|%2e){1,2}(?=\/|%2f|\\|%5c|$)/i.test(path)) return
  throw new AppError('bad_request', `The path ${path} has parts that lead elsewhere ("." or "..").`)
}
