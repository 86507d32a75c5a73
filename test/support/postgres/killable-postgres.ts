import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import postgres from 'postgres'
import { startPostgresServer } from './postgres-server.ts'
import { isAlive, until } from '../until.ts'

export interface KillablePostgres {
  url: string
  /** As if its machine had crashed: no goodbye to clients, nothing tidied up. */
  kill(): Promise<void>
  /** The same server again: the same port, the same data. */
  restart(): Promise<void>
  /** For good. */
  stop(): Promise<void>
}

/** A PostgreSQL that can be away for a while. */
export async function startKillablePostgres(): Promise<KillablePostgres> {
  const server = await startPostgresServer()
  const data = await ask(
    server.url,
    (sql) => sql<{ folder: string }[]>`select current_setting('data_directory') as folder`,
  )
  const folder = data[0]!.folder
  // PostgreSQL writes down how it was started, as a shell line.
  const command = readFileSync(join(folder, 'postmaster.opts'), 'utf8')
  const kill = async (): Promise<void> => {
    const pid = Number(readFileSync(join(folder, 'postmaster.pid'), 'utf8').split('\n', 1)[0])
    // SIGQUIT ends its children with it; after SIGKILL they would hold the port.
    process.kill(pid, 'SIGQUIT')
    await until(() => !isAlive(pid))
  }
  let isUp = true
  return {
    url: server.url,
    async kill() {
      isUp = false
      await kill()
    },
    async restart() {
      const { uid, gid } = statSync(folder)
      const child = spawn('/bin/sh', ['-c', `exec ${command}`], { uid, gid, cwd: folder, stdio: 'ignore' })
      await once(child, 'spawn')
      isUp = true
      await until(() =>
        ask(server.url, (sql) => sql`select 1`).then(
          () => true,
          () => false,
        ),
      )
    },
    async stop() {
      if (isUp) await kill()
      await server.stop()
    },
  }
}

async function ask<T>(url: string, query: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = postgres(url, { max: 1, fetch_types: false, connect_timeout: 5 })
  try {
    return await query(sql)
  } finally {
    await sql.end({ timeout: 1 })
  }
}
