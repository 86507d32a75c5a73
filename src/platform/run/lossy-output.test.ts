import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { until } from '../../../test/support/until.ts'

const MODULE = JSON.stringify(new URL('./log.ts', import.meta.url).href)
const OUTPUTS = JSON.stringify(new URL('./outputs.ts', import.meta.url).href)
const RUN_ROLES = JSON.stringify(new URL('../../app/run-roles.ts', import.meta.url).href)

/** A process that logs for ever, and answers on stdout as long as its event loop turns. */
const CHATTY = `
  const { createLogger } = await import(${MODULE})
  const { stderrOutput } = await import(${OUTPUTS})
  const log = await createLogger({ level: 'info', format: process.env.FORMAT ?? 'json' })
  let said = 0
  const flood = setInterval(() => { for (let i = 0; i < 50; i++) log.info({ said: ++said }, 'x'.repeat(200)) }, 1)
  process.stdin.on('data', (data) => {
    if (String(data).includes('stop')) clearInterval(flood)
    process.stdout.write(JSON.stringify({ said, trouble: stderrOutput().trouble() ?? null }) + '\\n')
  })
  process.stdin.on('end', () => process.exit(0))
  process.stdout.write('up\\n')`

function start(script: string, stderr: 'pipe' | number): ChildProcess {
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['pipe', 'pipe', stderr] })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

/** What it says of itself, which it can say only while it is not stuck. */
async function ask(
  child: ChildProcess,
  what = 'how are you',
): Promise<{ said: number; trouble: { code: string } | null }> {
  child.stdin!.write(`${what}\n`)
  const [data] = (await once(child.stdout!, 'data')) as [Buffer]
  return JSON.parse(String(data)) as { said: number; trouble: { code: string } | null }
}

async function untilTrouble(child: ChildProcess, code: string): Promise<void> {
  await once(child.stdout!, 'data')
  await until(async () => (await ask(child)).trouble?.code === code, 10_000)
}

interface Line {
  said?: number
  lost?: number
  msg: string
}

function linesOf(text: string): Line[] {
  const whole = text.slice(0, text.lastIndexOf('\n'))
  return whole.split('\n').map((line) => JSON.parse(line) as Line)
}

/** Every line is whole, they are in order, and the gaps are as long as the reports say. Returns how many are missing. */
function countLost(lines: readonly Line[]): number {
  let next = 1
  let all = 0
  for (const { said, lost, msg } of lines) {
    if (said === undefined) {
      expect(msg).toMatch(/of the log (was|were) lost/)
      next += lost!
      all += lost!
    } else {
      expect(said).toBe(next)
      next += 1
    }
  }
  return all
}

test('a pipe whose reader stands still delays nothing; when it reads again, it finds whole lines and the number of those lost', async () => {
  const child = start(CHATTY, 'pipe')
  await untilTrouble(child, 'EAGAIN')
  await ask(child, 'stop')
  let text = ''
  child.stderr!.on('data', (data) => (text += String(data)))
  await until(() => text.includes('lost'), 10_000)
  child.stdin!.end()
  await once(child, 'exit')
  expect(countLost(linesOf(text))).toBeGreaterThan(0)
})

test('a socket, as journald gives one, neither', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const taken = once(server, 'connection') as Promise<[Socket]>
  const { port } = server.address() as AddressInfo
  // A shell opens the socket, as it is none of Node's that could be handed on.
  const command = `exec 2<>/dev/tcp/127.0.0.1/${port}; exec "$0" --input-type=module -e "$1"`
  const child = spawn('bash', ['-c', command, process.execPath, CHATTY], { stdio: ['pipe', 'pipe', 'ignore'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [socket] = await taken
  onTestFinished(() => void socket.destroy())
  socket.pause()
  await untilTrouble(child, 'EAGAIN')
  await ask(child, 'stop')
  let text = ''
  socket.on('data', (data) => (text += String(data))).resume()
  await until(() => text.includes('lost'), 10_000)
  expect(countLost(linesOf(text))).toBeGreaterThan(0)
})

test('a process whose log nobody reads ends when it is asked to, with its own exit code', async () => {
  const script = `
    const { runRoles } = await import(${RUN_ROLES})
    const config = { log_level: 'info', log_format: 'json', drain_s: 0 }
    process.exitCode = await runRoles(config, async (log) => {
      for (let i = 0; i < 10_000; i++) log.info('x'.repeat(200))
      return { over: Promise.resolve({ code: 3, message: 'the end' }) }
    })`
  const [code] = (await once(start(script, 'pipe'), 'exit')) as [number]
  expect(code).toBe(3)
})

test('a crash ends a process whose log nobody reads at once, with 1', async () => {
  const script = `
    const { runRoles } = await import(${RUN_ROLES})
    const config = { log_level: 'info', log_format: 'json', drain_s: 0 }
    await runRoles(config, async (log) => {
      for (let i = 0; i < 10_000; i++) log.info('x'.repeat(200))
      setTimeout(() => { throw new Error('a mistake of ours') })
      return { over: new Promise(() => {}) }
    })`
  const [code] = (await once(start(script, 'pipe'), 'exit')) as [number]
  expect(code).toBe(1)
})

test('the last lines of a crash are written, also into a file', () => {
  const folder = scratch()
  const file = join(folder, 'log')
  const script = `
    const { runRoles } = await import(${RUN_ROLES})
    await runRoles({ log_level: 'info', log_format: 'json', drain_s: 0 }, async (log) => {
      for (let i = 1; i <= 200; i++) log.info({ said: i }, 'before')
      throw new Error('unused')
    }).catch(() => setTimeout(() => { throw new Error('a mistake of ours') }))`
  const fd = openSync(file, 'a')
  const { status } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', fd],
  })
  closeSync(fd)
  expect(status).toBe(1)
  const lines = linesOf(readFileSync(file, 'utf8'))
  expect(lines.map(({ said }) => said).slice(0, 200)).toEqual(Array.from({ length: 200 }, (_, i) => i + 1))
  expect(lines.at(-1)).toMatchObject({ level: 60, err: { message: 'a mistake of ours' } })
})

test('a full disk under the log ends nothing; with room again the log goes on, with the number of lines that are missing', async (context) => {
  const folder = scratch()
  const options = 'size=1m,mode=0700'
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder]).status !== 0) return context.skip()
  onTestFinished(() => void spawnSync('umount', ['-l', folder]))
  const file = join(folder, 'log')
  const ballast = join(folder, 'ballast')
  writeFileSync(ballast, Buffer.alloc(768 * 1024))
  const fd = openSync(file, 'a')
  const child = start(CHATTY, fd)
  closeSync(fd)
  await untilTrouble(child, 'ENOSPC')
  await ask(child, 'stop')
  const full = statSync(file).size
  rmSync(ballast)
  let text = ''
  await until(() => (text = readFileSync(file, 'utf8')).includes('lost'), 10_000)
  expect(text.length).toBeGreaterThan(full)
  expect(countLost(linesOf(text))).toBeGreaterThan(0)
})

function scratch(): string {
  const folder = mkdtempSync(join(tmpdir(), 'flotilla-output-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
