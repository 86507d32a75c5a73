import { readFileSync } from 'node:fs'
import { Socket } from 'node:net'

/**
 * Runs before Flotilla in each of its processes, for tests only. It ends the process with the run of the tests, sends each connection through the relay that stands
 * for the network between this process and where it wants to go (FAULTS_ROUTES: `{"host:port": relay port}`), and shifts
 * the clock by as many milliseconds as a file says (FAULTS_CLOCK).
 */
const routes = JSON.parse(process.env['FAULTS_ROUTES'] ?? '{}') as Record<string, number>
const clockFile = process.env['FAULTS_CLOCK']
const LOOK_EVERY_MS = 100

endWithTheRun()
redirect()
if (clockFile !== undefined) shiftClock(clockFile)

/** Its input ends when whoever started it has ended, however that was. Its engines have an input of their own. */
function endWithTheRun(): void {
  if (process.env['FAULTS_MEMBER'] === undefined) return
  delete process.env['FAULTS_MEMBER']
  process.stdin.on('close', () => process.kill(process.pid, 'SIGKILL')).resume()
  ;(process.stdin as Socket).unref()
}

/** All of Node's clients connect by this one function, which takes options, a list of them, or port and host. */
function redirect(): void {
  const prototype = Socket.prototype as unknown as { connect: (...args: unknown[]) => Socket }
  const { connect } = prototype
  prototype.connect = function (this: Socket, ...args: unknown[]) {
    const [first, second] = args
    const options = (Array.isArray(first) ? first[0] : first) as { host?: string; port?: number } | null
    if (typeof options === 'object' && options !== null) {
      const port = routes[`${options.host}:${options.port}`]
      if (port !== undefined) Object.assign(options, { host: '127.0.0.1', port })
    } else if (typeof second === 'string') {
      const port = routes[`${second}:${Number(first)}`]
      if (port !== undefined) args.splice(0, 2, port, '127.0.0.1')
    }
    return connect.apply(this, args)
  }
}

function shiftClock(file: string): void {
  let shiftMs = 0
  const read = (): void => {
    try {
      shiftMs = Number(readFileSync(file, 'utf8')) || 0
    } catch {
      shiftMs = 0
    }
  }
  read()
  setInterval(read, LOOK_EVERY_MS).unref()
  const RealDate = Date
  const now = (): number => RealDate.now() + shiftMs
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, args: unknown[], self) =>
      Reflect.construct(target, args.length === 0 ? [now()] : args, self) as object,
    get: (target, name, self) => (name === 'now' ? now : Reflect.get(target, name, self)) as unknown,
  })
}
