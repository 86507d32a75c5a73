import { AppError } from '../../platform/errors.ts'

const MOST_PARTS = 1000

/**
 * The files of a split GGUF, if `path` names one of them (`x-00001-of-00003.gguf`), first part first: an engine gets
 * the first and finds the others beside it. For any other path, only that path.
 */
export function splitParts(path: string): [string, ...string[]] {
  const match = /^(.*)-(\d{5})-of-(\d{5})\.gguf$/s.exec(path)
  if (!match) return [path]
  const [, stem, part, of] = match as unknown as [string, string, string, string]
  const count = Number(of)
  if (Number(part) < 1 || Number(part) > count) return [path]
  if (count > MOST_PARTS) {
    throw new AppError('bad_request', `"${path}" is split into ${count} files; at most ${MOST_PARTS} are possible.`)
  }
  const nameOf = (number: number): string => `${stem}-${String(number).padStart(5, '0')}-of-${of}.gguf`
  return [nameOf(1), ...Array.from({ length: count - 1 }, (_, index) => nameOf(index + 2))]
}
