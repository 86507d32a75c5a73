import { spawn, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  accessSync,
  chownSync,
  closeSync,
  constants,
  openSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import postgres from 'postgres'
import type { CertificatePair } from '../../../src/platform/tls/certificate-pair.ts'
import { freePort } from '../http/free-port.ts'

export interface TestServer {
  url: string
  stop(): Promise<void>
}

/** PostgreSQL refuses to run as root; any other user will do, and this one is everywhere ("nobody"). */
const NOBODY = { uid: 65534, gid: 65534 }
const USER: { uid?: number; gid?: number } = process.getuid?.() === 0 ? NOBODY : {}

const START_TRIES = 100
const START_PAUSE_MS = 100

interface PostgresOptions {
  tls?: CertificatePair
  /** What it has committed is on the disk, as PostgreSQL has it by itself; for who measures. */
  isDurable?: boolean
}

/** A PostgreSQL of our own: in a temporary folder, on a free port of 127.0.0.1, gone when this process is gone. */
export async function startPostgresServer({ tls, isDurable = false }: PostgresOptions = {}): Promise<TestServer> {
  const bin = findPostgres()
  const folder = await mkdtemp(join(tmpdir(), 'flotilla-postgres-'))
  const password = randomBytes(16).toString('hex')
  writeFileSync(join(folder, 'password'), password)
  for (const path of [folder, join(folder, 'password')]) if (USER === NOBODY) chownSync(path, NOBODY.uid, NOBODY.gid)
  try {
    await initdb(bin, folder)
    if (tls) writeForServer(folder, tls)
    return await serve(bin, folder, password, { hasTls: tls !== undefined, isDurable })
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    throw error
  }
}

async function initdb(bin: string, folder: string): Promise<void> {
  const args = ['-D', join(folder, 'data'), '-U', 'flotilla', '-A', 'scram-sha-256', '-E', 'UTF8', '--locale=C']
  const log = openSync(join(folder, 'log'), 'a')
  const child = spawn(join(bin, 'initdb'), [...args, '--no-sync', '--pwfile', join(folder, 'password')], {
    ...USER,
    cwd: folder,
    stdio: ['ignore', log, log],
  })
  closeSync(log)
  const [code] = (await once(child, 'exit')) as [number | null]
  if (code !== 0) throw new Error(`initdb failed (${code}):\n${logTail(folder)}`)
}

/** The server wants a key that nobody but its own user may read. */
function writeForServer(folder: string, { cert, key }: CertificatePair): void {
  for (const [name, text] of Object.entries({ 'server.crt': cert, 'server.key': key })) {
    const path = join(folder, 'data', name)
    writeFileSync(path, text, { mode: 0o600 })
    if (USER === NOBODY) chownSync(path, NOBODY.uid, NOBODY.gid)
  }
}

async function serve(
  bin: string,
  folder: string,
  password: string,
  { hasTls, isDurable }: { hasTls: boolean; isDurable: boolean },
): Promise<TestServer> {
  const port = await freePort()
  const settings = {
    listen_addresses: '127.0.0.1',
    port,
    unix_socket_directories: '',
    max_connections: 300,
    shared_buffers: '32MB',
    // In tests nothing outlives the run and nobody cuts the power; what is tested is what clients see.
    fsync: isDurable ? 'on' : 'off',
    ssl: hasTls ? 'on' : 'off',
  }
  const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const log = openSync(join(folder, 'log'), 'a')
  const child = spawn(join(bin, 'postgres'), ['-D', join(folder, 'data'), ...args], {
    ...USER,
    cwd: folder,
    stdio: ['ignore', log, log],
  })
  closeSync(log)
  const guard = guardAgainstOrphans(folder)
  const url = `postgres://flotilla:${password}@127.0.0.1:${port}/postgres`
  try {
    await answers(url, child, folder)
  } catch (error) {
    await stop(child, guard)
    throw error
  }
  return {
    url,
    async stop() {
      await stop(child, guard)
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function answers(url: string, child: ChildProcess, folder: string): Promise<void> {
  for (let tries = 0; tries < START_TRIES && child.exitCode === null; tries += 1) {
    const sql = postgres(url, { max: 1, fetch_types: false, connect_timeout: 5 })
    try {
      await sql`select 1`
      return
    } catch {
      await new Promise((resolve) => setTimeout(resolve, START_PAUSE_MS))
    } finally {
      await sql.end({ timeout: 1 })
    }
  }
  throw new Error(`PostgreSQL does not start (exit code ${child.exitCode}):\n${logTail(folder)}`)
}

/** SIGINT is PostgreSQL's "fast" shutdown: it does not wait for clients. */
async function stop(child: ChildProcess, guard: ChildProcess): Promise<void> {
  if (child.exitCode === null) {
    const exited = once(child, 'exit')
    child.kill('SIGINT')
    await exited
  }
  guard.kill('SIGKILL')
}

/**
 * A process that waits for us to end, however we end: its input closes, it stops the server, which may have been started
 * again meanwhile, and removes the folder. In a group of its own, because Ctrl-C goes to the whole group.
 */
function guardAgainstOrphans(folder: string): ChildProcess {
  const script = `
    const fs = require('node:fs')
    process.stdin.resume().on('end', async () => {
      const folder = ${JSON.stringify(folder)}
      let pid
      try { pid = Number(fs.readFileSync(folder + '/data/postmaster.pid', 'utf8').split('\\n', 1)[0]) } catch {}
      const alive = () => { try { process.kill(pid, 0); return true } catch { return false } }
      if (pid > 1 && alive()) {
        process.kill(pid, 'SIGQUIT')
        for (let i = 0; i < 100 && alive(); i += 1) await new Promise((resolve) => setTimeout(resolve, 100))
      }
      fs.rmSync(folder, { recursive: true, force: true })
    })`
  const guard = spawn(process.execPath, ['-e', script], { stdio: ['pipe', 'ignore', 'ignore'], detached: true })
  guard.unref()
  return guard
}

/** The newest installed version, or whatever is on the PATH. */
function findPostgres(): string {
  const root = '/usr/lib/postgresql'
  const versions = listFolder(root).toSorted((a, b) => Number(b) - Number(a))
  const onPath = (process.env['PATH'] ?? '').split(delimiter)
  const folders = [...versions.map((version) => join(root, version, 'bin')), ...onPath]
  const found = folders.find((folder) => isExecutable(join(folder, 'postgres')) && isExecutable(join(folder, 'initdb')))
  if (found) return found
  throw new Error(
    'These tests need PostgreSQL: install it (Debian: apt-get install postgresql), or set FLOTILLA_TEST_DATABASE_URL.',
  )
}

function listFolder(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

function logTail(folder: string): string {
  return readFileSync(join(folder, 'log'), 'utf8').split('\n').slice(-20).join('\n')
}
