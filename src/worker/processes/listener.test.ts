import { createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { until } from '../../../test/support/until.ts'
import { listenerOf, parseTable } from './listener.ts'
import type { ProcessIdentity } from './process-identity.ts'
import { quickly, startShell } from './testing/an-engine.ts'

test('an engine is known by the socket that it holds', async () => {
  const { identity, port } = await listening('127.0.0.1')
  expect(await listenerOf(port, identity)).toEqual({ isLoopbackOnly: true, isOurs: true })
})

test('so is what an engine has started', async () => {
  const { identity, port } = await listening('127.0.0.1', (command) => `setsid ${command} & wait`)
  expect(await listenerOf(port, identity)).toEqual({ isLoopbackOnly: true, isOurs: true })
})

test.for(['0.0.0.0', '::'])('an engine that listens on %s is open to other machines', async (host) => {
  const { identity, port } = await listening(host)
  expect(await listenerOf(port, identity)).toEqual({ isLoopbackOnly: false, isOurs: true })
})

test('an engine of another worker on the same port is not ours', async () => {
  const theirs = await listening('127.0.0.1')
  const ours = await listening('127.0.0.1')
  expect(await listenerOf(theirs.port, ours.identity)).toEqual({ isLoopbackOnly: true, isOurs: false })
})

test('nor is this very process', async () => {
  const server = createServer()
  onTestFinished(() => void server.close())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  const { identity } = await listening('127.0.0.1')
  expect(await listenerOf(port, identity)).toMatchObject({ isOurs: false })
})

test('two that share a port are not ours alone', async () => {
  const first = await listening('127.0.0.1', undefined, { reusePort: true })
  const second = await listening('127.0.0.1', undefined, { reusePort: true, port: first.port })
  expect(second.port).toBe(first.port)
  expect(await listenerOf(first.port, first.identity)).toEqual({ isLoopbackOnly: true, isOurs: false })
})

test('who listens on 127.0.0.1 goes before who listens everywhere', async () => {
  const everywhere = await listening('0.0.0.0', undefined, { reusePort: true })
  const here = await listening('127.0.0.1', undefined, { reusePort: true, port: everywhere.port })
  expect(await listenerOf(here.port, here.identity)).toEqual({ isLoopbackOnly: true, isOurs: true })
  expect(await listenerOf(here.port, everywhere.identity)).toEqual({ isLoopbackOnly: false, isOurs: false })
})

test('a port on which nobody listens is nobody’s', async () => {
  const { identity, port, stop } = await listening('127.0.0.1')
  await stop()
  expect(await listenerOf(port, identity)).toEqual({ isLoopbackOnly: true, isOurs: false })
})

test('addresses are read from the tables of the kernel', () => {
  const line = (address: string, state = '0A'): string =>
    `   0: ${address}:1F90 00000000:0000 ${state} 00000000:00000000 00:00000000 00000000  1000        0 4242 1 0 100 0`
  const reach = (address: string): unknown => parseTable(`header\n${line(address)}\n`, 8080)[0]?.reach
  expect(reach('0100007F')).toBe('127.0.0.1')
  expect(reach('0500007F')).toBe('loopback')
  expect(reach('00000000')).toBe('all')
  expect(reach('0101A8C0')).toBe('one address')
  expect(reach('00000000000000000000000001000000')).toBe('loopback')
  expect(reach('0000000000000000FFFF00000100007F')).toBe('127.0.0.1')
  expect(reach('0000000000000000FFFF00000101A8C0')).toBe('one address')
  expect(reach('00000000000000000000000000000000')).toBe('all')
  expect(parseTable(line('0100007F', '01'), 8080)).toEqual([])
  expect(parseTable(line('0100007F'), 8081)).toEqual([])
})

interface Listening {
  identity: ProcessIdentity
  port: number
  stop: () => Promise<unknown>
}

/** An engine that listens. */
async function listening(
  host: string,
  wrap: (command: string) => string = (command) => `exec ${command}`,
  { port = 0, reusePort = false }: { port?: number; reusePort?: boolean } = {},
): Promise<Listening> {
  const script = `const server = require("net").createServer().listen(${JSON.stringify({ host, port, reusePort })}, () => process.stdout.write(server.address().port + String.fromCharCode(10)))`
  const { engine, lines } = await startShell(wrap(`${process.execPath} -e '${script}'`))
  const stop = (): Promise<unknown> => engine.stop(quickly)
  onTestFinished(() => void stop())
  await until(() => lines.length > 0)
  return { identity: engine.identity, port: Number(lines[0]!.split(': ')[1]), stop }
}
