import { AppError } from '../../platform/errors.ts'

/** Refuses `.` and `..` in a path: some engines would resolve them and serve paths outside `/v1/`. */
export function refuseDots(path: string): void {
  if (!/(\/|%2f|\\|%5c)(\.|%2e){1,2}(?=\/|%2f|\\|%5c|$)/i.test(path)) return
  throw new AppError('bad_request', `The path ${path} contains "." or ".." as a part, which is not allowed.`)
}
