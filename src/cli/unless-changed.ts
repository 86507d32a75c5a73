import { AppError } from '../platform/errors.ts'

/** Admins who change one thing at the same time take turns soon; a loop that runs longer meets a program, not a person. */
const MOST_TRIES = 5

/**
 * Reads, merges and saves; `save` names the version that it has read. When another admin was faster, what that one saved is
 * read and merged with: neither change is lost. Commands that read before they write go through here.
 */
export async function unlessChanged<T>(save: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await save()
    } catch (error) {
      const isChanged =
        error instanceof AppError && error.code === 'conflict' && error.details['param'] === 'if_updated_at'
      if (!isChanged || tries === MOST_TRIES) throw error
    }
  }
}
