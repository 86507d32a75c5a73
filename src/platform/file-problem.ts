import { messageOf } from './errors.ts'

/**
 * Why a file or folder could not be read or written, as a part of a sentence: `Cannot read x: there is no such file.`
 * The system's own message has a code, the name of a system call, and the path once more.
 */
export function fileProblem(error: unknown): string {
  const { code } = (error ?? {}) as NodeJS.ErrnoException
  return WORDS[code ?? ''] ?? unworded(error)
}

const WORDS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or folder',
  EACCES: 'the user that runs this has no permission for it',
  EPERM: 'the user that runs this has no permission for it',
  EISDIR: 'it is a folder, and a file is needed',
  ENOTDIR: 'a part of the path is a file, and a folder is needed',
  EEXIST: 'it exists already',
  ENOTEMPTY: 'the folder is not empty',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota of this user is used up',
  EFBIG: 'it would be larger than this disk or user may have files',
  EROFS: 'the disk is mounted read-only',
  EIO: 'the disk reports an error',
  EBUSY: 'another program uses it',
  EMFILE: 'this process has too many files open (ulimit -n)',
  ENFILE: 'this machine has too many files open',
  ENAMETOOLONG: 'its name is too long',
  ELOOP: 'its symbolic links lead in a circle',
  ETXTBSY: 'the program in it is running',
  ERR_INVALID_ARG_VALUE: 'its name holds a character that no file name has',
  ERR_FS_FILE_TOO_LARGE: 'it is larger than 2 GiB',
}

/** Without the system call and the path: `ESTALE: stale file handle, open '/x'` is `stale file handle (ESTALE)`. */
function unworded(error: unknown): string {
  const text = messageOf(error).replace(/\.$/, '')
  const [, code, said] = /^(E[A-Z0-9]+): (.*?)(?:, \w+(?: '.*)?)?$/s.exec(text) ?? []
  return code === undefined ? text : `${said} (${code})`
}
