import { AppError } from '../platform/errors.ts'

/** Concurrent edits by people succeed within few tries; beyond these, the other writer is a program. */
const MOST_TRIES = 5

/**
 * Reads, merges and saves; `save` names the version that it has read. If another admin saved first, the new state is
 * read and merged with: neither change is lost. All commands that read before they write use this.
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
