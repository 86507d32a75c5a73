import { join } from 'node:path'
import type { RemoteSource } from '../../model-files/source/source.ts'

/** Where a source's files are in a shared folder that holds all models. */
export function pathInSharedFolder(folder: string, source: RemoteSource): string {
  switch (source.kind) {
    case 'frontend':
      return join(folder, source.path)
    case 'hub':
      return join(folder, source.repository, source.path ?? '')
    case 'url':
      return join(folder, source.fileName)
  }
}
