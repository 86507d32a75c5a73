import { join } from 'node:path'
import { defaultContext } from '../../../core/memory/default-context.ts'
import type { Model } from '../../../core/types.ts'
import { localBytes } from '../../../model-files/header/byte-source.ts'
import { describeModel } from '../../../model-files/header/describe.ts'
import { AppError } from '../../../platform/errors.ts'
import { toModel } from '../../api/nouns/models/models.ts'
import type { FoundModel } from './find-models.ts'

/** A drive over the network may hang. */
const READ_WITHIN_MS = 15_000

/** The model that files of the folder are. Throws what is wrong with them. */
export async function readModel(folder: string, { name, files }: FoundModel): Promise<Model> {
  const opened = files.map(({ path, size }) => ({ path, bytes: localBytes(join(folder, path), size, path) }))
  const found = await describeModel(opened, AbortSignal.timeout(READ_WITHIN_MS))
  if (found.kind !== 'model') throw new AppError('bad_request', `${files[0].path} is no model by itself.`)
  const context = defaultContext(found.header.context)
  return toModel({
    name,
    engine: 'llama',
    source: `frontend:${files[0].path}`,
    options: context === undefined ? {} : { context },
  })
}
