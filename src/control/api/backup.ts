import type { ServerResponse } from 'node:http'
import { AppError } from '../../platform/errors.ts'
import { sameSecret } from '../../platform/secrets.ts'
import { shownBearer } from '../../http/server/presented-key.ts'
import type { Streams } from './answers.ts'
import type { AdminDeps } from './deps.ts'

type Deps = Pick<AdminDeps, 'adminKey' | 'backup'>

/** The whole store as `flotilla db export` writes it, from the database that this frontend has open. */
export function backupStreams({ adminKey, backup }: Deps): Streams<'exportStore'> {
  let isRunning = false
  return {
    async exportStore(request, response) {
      // It holds the secret of the cluster, which no API key opens.
      if (!sameSecret(shownBearer(request) ?? '', adminKey())) throw new AppError('forbidden', ONLY_ADMIN_KEY)
      if (!backup) throw new AppError('not_implemented', 'This frontend cannot export its store.')
      if (isRunning) throw new AppError('busy', 'An export is being made already.', { retryAfterS: 5 })
      isRunning = true
      try {
        await backup((text) => send(text, response))
        response.end()
      } catch (error) {
        if (!response.headersSent) throw error
        // A backup that is cut off lacks its last line, so a reader sees that it is not whole.
        response.destroy()
      } finally {
        isRunning = false
      }
    },
  }
}

const ONLY_ADMIN_KEY =
  'Only the admin key of this frontend (admin.key in its data folder) opens this: the answer holds the secret of the cluster.'

async function send(text: AsyncIterable<string>, response: ServerResponse): Promise<void> {
  response.writeHead(200, { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' })
  for await (const part of text) {
    if (response.destroyed) throw new AppError('client_gone', 'The client has gone.')
    if (response.write(part)) continue
    await new Promise<void>((resolve) => {
      const go = (): void => {
        response.off('drain', go)
        response.off('close', go)
        resolve()
      }
      response.once('drain', go)
      response.once('close', go)
    })
  }
}
