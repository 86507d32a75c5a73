import { AppError } from '../../../../platform/errors.ts'
import { sendJson } from '../../../../http/server.ts'
import { findBelow, listFiles } from '../../../facts/models-folder.ts'
import type { Streams } from '../../answers.ts'
import type { AdminDeps } from '../../deps.ts'
import { neededNode } from '../../../views/node-view.ts'
import { sendFile } from './send-file.ts'

/** Each holds an open file. */
const MOST_TRANSFERS = 256

/** Models that a frontend holds, for the nodes of its cluster only. */
export function fileStreams(deps: AdminDeps): Streams<'nodeFile'> {
  let transfers = 0
  return {
    async nodeFile(request, response, { id, path }) {
      const node = await neededNode(deps.db, id)
      if (node.approved_at === null) throw new AppError('forbidden', `${node.name} is pending: it gets no files yet.`)
      const found = await findBelow(deps.modelsFolder, path)
      if (found.kind === 'folder') {
        return sendJson(response, 200, await listFiles(deps.modelsFolder, found.path))
      }
      if (transfers >= MOST_TRANSFERS) {
        throw new AppError('busy', `${MOST_TRANSFERS} files are being sent already.`, { retryAfterS: 10 })
      }
      transfers += 1
      try {
        await sendFile(request, response, found.path)
      } finally {
        transfers -= 1
      }
    },
  }
}
