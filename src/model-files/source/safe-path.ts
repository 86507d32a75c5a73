const MOST_PATH_BYTES = 1024
const MOST_NAME_BYTES = 255
const MOST_NAMES = 32

/** Whether a relative path from an untrusted source, joined to a folder, stays below that folder on every system. */
export function isSafePath(path: string): boolean {
  const names = path.split('/')
  return Buffer.byteLength(path) <= MOST_PATH_BYTES && names.length <= MOST_NAMES && names.every(isSafeName)
}

/** Whether a text can be the name of one file: not empty, not a way up, without separators and control characters. */
export function isSafeName(name: string): boolean {
  if (name === '' || name === '.' || name === '..' || Buffer.byteLength(name) > MOST_NAME_BYTES) return false
  return !/[/\\\p{Cc}\p{Cs}]/u.test(name)
}
