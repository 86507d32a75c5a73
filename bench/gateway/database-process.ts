import { hostAndPort } from '../../src/platform/address.ts'
import { ConnectionPool } from '../../src/platform/connection-pool.ts'
import { AppError } from '../../src/platform/errors.ts'
import { parseJson, readBody, startHttpServer } from '../../src/platform/http.ts'
import { silentLogger } from '../../src/platform/log.ts'
import { instead } from '../../src/platform/pass-on.ts'
import { forwarded } from '../../src/testing/forwarded.ts'
import { answerMemory } from '../worker/memory.ts'
import { begin, connectTo, createTables, end, pick, pickAtOnce } from './database.ts'

/**
 * A gateway that asks PostgreSQL where each request goes, in one statement or in a dozen. It reads and forwards as
 * Flotilla's does.
 */
const [statements, url, ...ports] = process.argv.slice(2)
const isOne = statements === 'one'
const sql = connectTo(url!)
await createTables(
  sql,
  ports.map((port) => `127.0.0.1:${port}`),
)
const pool = new ConnectionPool()
const server = await startHttpServer({
  listen: { host: '127.0.0.1', port: 0 },
  purpose: 'the bench',
  flag: '--none',
  log: silentLogger,
  async handler(request, response) {
    const body = await readBody(request, 1024 * 1024)
    const { model } = parseJson(body) as { model: string }
    const picked = await (isOne ? pickAtOnce(sql, model) : pick(sql, model))
    if (!picked) throw new AppError('model_not_ready', 'There is no replica.')
    if (!isOne) await begin(sql, picked)
    const headers = instead({ host: picked.address })
    await forwarded(request, response, { ...hostAndPort(picked.address)!, path: request.url!, headers, pool }, body)
    if (!isOne) await end(sql, picked)
  },
})
process.send?.({ port: server.address.port })
answerMemory()
process.once('disconnect', () => process.exit())
