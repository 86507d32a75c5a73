import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { IncomingMessage } from 'node:http'
import type { Config } from '../../cli/config/options.ts'
import { clientRequest } from '../../http/client/client-request.ts'
import { AppError, messageOf } from '../../platform/errors.ts'
import { headerSchema, type BackupHeader } from '../../store/backup/format.ts'
import { fileMark } from '../../store/driver/open-file.ts'
import { refusal } from '../../cli/admin-client.ts'
import { findCluster, readText, type Cluster } from '../../cli/cluster.ts'

const MOST_REFUSAL_BYTES = 64 * 1024

/**
 * The frontend that has this folder's database open, when the file there is another one: the original was deleted or
 * replaced, and only the frontend still has it.
 */
export function frontendWithLostFile(config: Config, file: string): Cluster | undefined {
  const endpoint = readText(join(config.data, 'endpoint.json'))
  if (endpoint === undefined && config.url === undefined) return undefined
  if (existsSync(file) && markIn(endpoint) === undefined) return undefined
  if (existsSync(file) && markIn(endpoint) === fileMark(file)) return undefined
  return findCluster(config)
}

/** The mark of the frontend's open file. A frontend of the release before has none. */
function markIn(endpoint: string | undefined): string | undefined {
  try {
    const { database } = JSON.parse(endpoint ?? '{}') as { database?: unknown }
    return typeof database === 'string' ? database : undefined
  } catch {
    return undefined
  }
}

/** Asks the frontend for an export; `sink` takes the text. */
export async function exportFromFrontend(
  cluster: Cluster,
  sink: (text: AsyncIterable<string>) => Promise<void>,
): Promise<BackupHeader> {
  const answer = await ask(cluster)
  if (answer.statusCode !== 200) throw refusal(cluster, { status: answer.statusCode ?? 0, body: await bodyOf(answer) })
  let begin = ''
  let end = ''
  async function* text(): AsyncGenerator<string> {
    for await (const part of answer.setEncoding('utf8') as AsyncIterable<string>) {
      if (!begin.includes('\n')) begin += part
      end = (end + part).slice(-300)
      yield part
    }
    if (!/\n\{"flotilla":"end"[^\n]*\n$/.test(end)) {
      throw new AppError('unavailable', `${cluster.url} broke the export off: nothing was kept.`)
    }
  }
  await sink(text())
  return headerSchema.parse(JSON.parse(begin.slice(0, begin.indexOf('\n'))))
}

function ask({ url, key, trust }: Cluster): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${key}` }
    const outgoing = clientRequest(new URL('/api/store/export', url), { method: 'GET', headers }, trust)
    outgoing.once('response', resolve)
    outgoing.once('error', (error) => {
      const text = `The file of the database is gone, and the frontend at ${url} that had it open cannot be reached: ${messageOf(error)}.`
      reject(new AppError('unavailable', text, { cause: error }))
    })
    outgoing.end()
  })
}

async function bodyOf(answer: IncomingMessage): Promise<unknown> {
  let text = ''
  for await (const part of answer.setEncoding('utf8') as AsyncIterable<string>) {
    text += part
    if (text.length > MOST_REFUSAL_BYTES) break
  }
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
