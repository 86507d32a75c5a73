import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { tempFolder } from './support/temp-folder.ts'
import { until } from './support/until.ts'

/** Where each machine is, and what others reach there. */
const [FRONTEND, WORKER, GATEWAY, CLIENT] = ['10.77.0.1', '10.77.0.2', '10.77.0.3', '10.77.0.4'] as const
const PORTS = { [FRONTEND]: [8080, 4222], [WORKER]: [9090], [GATEWAY]: [8081], [CLIENT]: [] }

const main = fileURLToPath(new URL('../src/main.ts', import.meta.url))
const wireEnd = fileURLToPath(new URL('./support/http/wire-end.ts', import.meta.url))
const unshare = process.getuid?.() === 0 ? ['-n'] : ['-rn']
const canMakeMachines = spawnSync('unshare', [...unshare, 'ip', 'link', 'set', 'lo', 'up']).status === 0

/** Runs the program on a machine of its own, whose only way to the others is recorded in `wire`. */
function on(machine: string, wire: string, args: string[], env: Record<string, string> = {}) {
  const setUp = ['ip link set lo up', ...Object.keys(PORTS).map((address) => `ip addr add ${address}/32 dev lo`)]
  const node = [process.execPath, wireEnd, wire, machine, JSON.stringify(PORTS), process.execPath, main, ...args]
  const shell = ['sh', '-c', `${setUp.join(' && ')} && exec "$@"`, 'sh', ...node]
  const child = spawn('unshare', [...unshare, ...shell], { env: { ...process.env, ...env }, detached: true })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes: Buffer) => (text += bytes.toString()))
  const ended = once(child, 'exit')
  onTestFinished(async () => {
    if (child.exitCode === null) child.kill('SIGTERM')
    await ended
  })
  return { text: () => text, ended, code: () => child.exitCode }
}

test.runIf(canMakeMachines)(
  'on the wire between machines nobody sees a prompt, an answer, a key or a token',
  { timeout: 180_000 },
  async () => {
    const wire = tempFolder()
    const data = Object.fromEntries([FRONTEND, WORKER, GATEWAY, CLIENT].map((machine) => [machine, tempFolder()]))
    const ready = (machine: string): string => join(data[machine]!, 'ready')
    const serving = async (machine: string): Promise<{ fingerprint: string }> => {
      await until(() => existsSync(ready(machine)))
      return JSON.parse(readFileSync(ready(machine), 'utf8')) as { fingerprint: string }
    }
    const start = (machine: string, command: string, args: string[], env: Record<string, string> = {}) =>
      on(machine, wire, [command, '--data', data[machine]!, '--ready-file', ready(machine), ...args], env)

    start(FRONTEND, 'frontend', ['--listen', `${FRONTEND}:8080`, '--tls', 'self-signed', '--auto-approve'])
    const { fingerprint } = await serving(FRONTEND)
    const secret = (machine: string, name: string): string => readFileSync(join(data[machine]!, name), 'utf8').trim()
    const [key, token] = [secret(FRONTEND, 'admin.key'), secret(FRONTEND, 'join.token')]
    const known = ['--fingerprint', fingerprint]
    const at = `https://${FRONTEND}:8080`
    // Everything but this and the client's certificates is as it is by default.
    start(WORKER, 'worker', ['--join', at, ...known], { FLOTILLA_TOKEN: token })
    const gateway = ['--url', at, ...known, '--listen', `${GATEWAY}:8081`, '--tls', 'self-signed']
    start(GATEWAY, 'gateway', gateway, { FLOTILLA_KEY: key })
    await Promise.all([serving(WORKER), serving(GATEWAY)])

    const ask = async (args: string[], url: string, print: string): Promise<string> => {
      const cluster = ['--url', url, '--fingerprint', print, '--data', data[CLIENT]!]
      const run = on(CLIENT, wire, [...args, ...cluster], { FLOTILLA_KEY: key })
      await run.ended
      expect(run.code(), run.text()).toBe(0)
      return run.text()
    }
    await ask(['models', 'add', 'echo', '--engine', 'sim'], at, fingerprint)
    const prompt = 'the treasure lies under the third palm'
    const { fingerprint: ofGateway } = await serving(GATEWAY)
    const answer = await ask(['run', 'echo', prompt], `https://${GATEWAY}:8081`, ofGateway)
    expect(answer).toContain(prompt)
    await ask(['run', 'echo', prompt], at, fingerprint)

    const taps = readdirSync(wire).filter((name) => name.endsWith('.bytes'))
    const seen = new Map(taps.map((name) => [name, readFileSync(join(wire, name), 'latin1')]))
    const used = [...seen].filter(([, bytes]) => bytes.length > 0).map(([name]) => name)
    expect(used.toSorted()).toEqual(
      [
        `${CLIENT}-${FRONTEND}-8080.bytes`,
        `${CLIENT}-${GATEWAY}-8081.bytes`,
        `${FRONTEND}-${WORKER}-9090.bytes`,
        `${GATEWAY}-${FRONTEND}-4222.bytes`,
        `${GATEWAY}-${FRONTEND}-8080.bytes`,
        `${GATEWAY}-${WORKER}-9090.bytes`,
        `${WORKER}-${FRONTEND}-4222.bytes`,
        `${WORKER}-${FRONTEND}-8080.bytes`,
      ].toSorted(),
    )
    // The greeting of the bus is all that is meant for everybody: so the tap does hear.
    expect(seen.get(`${WORKER}-${FRONTEND}-4222.bytes`)).toContain('INFO {')
    const dataKey = secret(WORKER, 'worker/data.key')
    const secrets = {
      prompt,
      answer: 'Flotilla works end to end',
      key,
      token,
      dataKey,
      head: 'HTTP/1.1',
      bus: 'CONNECT {',
    }
    for (const [name, bytes] of seen) {
      for (const [what, text] of Object.entries(secrets)) expect(bytes.includes(text), `${what} in ${name}`).toBe(false)
    }
  },
)
