import { spawn } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'

/**
 * A program for the wiretap test: the network card of one machine, which is a network namespace with nothing but its own
 * loopback. Whoever connects to another machine there is passed on over a socket file, the only way out, and all that goes
 * through it is recorded. When everything listens it runs the command that follows.
 */
const [folder = '', machine = '', ports = '{}', command = '', ...args] = process.argv.slice(2)
const all = JSON.parse(ports) as Record<string, number[]>
const others = Object.keys(all).filter((one) => one !== machine)
const wire = (from: string, to: string, port: number): string => join(folder, `${from}-${to}-${port}`)

const listening: Promise<unknown>[] = []
for (const other of others) {
  for (const port of all[other]!) {
    const outward = createServer((socket) => tie(socket, connect(`${wire(machine, other, port)}.sock`)))
    listening.push(listen(outward, { host: other, port }))
  }
  for (const port of all[machine] ?? []) {
    const tap = createWriteStream(`${wire(other, machine, port)}.bytes`)
    const inward = createServer((socket) => {
      const inner = connect({ host: machine, port, localAddress: other })
      for (const side of [socket, inner]) side.on('data', (bytes: Buffer) => tap.write(bytes))
      tie(socket, inner)
    })
    listening.push(listen(inward, { path: `${wire(other, machine, port)}.sock` }))
  }
}
await Promise.all(listening)
const child = spawn(command, args, { stdio: 'inherit' })
process.on('SIGTERM', () => child.kill('SIGTERM'))
child.once('exit', (code) => process.exit(code ?? 1))

function listen(server: Server, where: { host: string; port: number } | { path: string }): Promise<void> {
  return new Promise((resolve, reject) => void server.once('error', reject).listen(where, resolve))
}

function tie(one: Socket, other: Socket): void {
  one.pipe(other)
  other.pipe(one)
  one.on('error', () => other.destroy()).on('close', () => other.destroy())
  other.on('error', () => one.destroy()).on('close', () => one.destroy())
}
