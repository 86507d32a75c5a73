import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { enginesOf } from '../support/worker/engines-of.ts'
import { until } from '../support/until.ts'

export interface MachineOptions {
  name: string
  /** Where its commands are run. */
  folder: string
  home: string
  /** Where the first machine serves, as host:port. */
  address: string
  env: Record<string, string | undefined>
}

interface Serving {
  child: ChildProcess
  ended: Promise<unknown>
  output: () => string
}

const RUN_WITHIN_MS = 120_000
const SERVES_WITHIN_MS = 120_000

/** A machine as a page knows it: its own home and node name, on loopback instead of a network. */
export class Machine {
  readonly name: string
  readonly folder: string
  readonly data: string
  readonly #address: string
  readonly #env: Record<string, string | undefined>
  /** By the command that serves. */
  readonly #serving = new Map<string, Serving>()
  /** Files that what serves writes when it is ready; a block that names one is for then. */
  readonly #written: string[] = []

  constructor({ name, folder, home, address, env }: MachineOptions) {
    this.name = name
    this.folder = folder
    this.data = join(home, '.local/share/flotilla')
    this.#address = address
    mkdirSync(home, { recursive: true })
    this.#env = {
      HOME: home,
      FLOTILLA_NODE_NAME: name,
      FLOTILLA_LISTEN: address,
      FLOTILLA_BUS_LISTEN: '127.0.0.1:0',
      FLOTILLA_WORKER_LISTEN: '127.0.0.1:0',
      ...env,
    }
  }

  /** Runs a block to its end; resolves to what it printed, and throws when it fails. */
  async run(code: string): Promise<string> {
    const awaited = this.#written.filter((file) => code.includes(file))
    await until(() => awaited.every((file) => existsSync(join(this.folder, file))), SERVES_WITHIN_MS)
    const { child, ended, output } = this.#start(code)
    const cut = setTimeout(() => process.kill(-child.pid!, 'SIGKILL'), RUN_WITHIN_MS)
    await ended
    clearTimeout(cut)
    if (child.exitCode === 0) return output()
    throw new Error(`on ${this.name}, exit code ${child.exitCode ?? child.signalCode}:\n${code}\n${output()}`)
  }

  /** Starts a block that goes on, after Ctrl-C for what served the same; waits until it says that it serves, or `isUp`. */
  async serve(code: string, isUp?: () => Promise<boolean>): Promise<void> {
    const key = /\b(worker|gateway|frontend)\b/.exec(code)?.[1] ?? 'up'
    await this.#end(key)
    this.#written.push(...[...code.matchAll(/--ready-file (\S+)/g)].map(([, file]) => file!))
    const serving = this.#start(code)
    this.#serving.set(key, serving)
    await until(async () => {
      if (serving.child.exitCode !== null) throw new Error(`on ${this.name}:\n${code}\nended: ${serving.output()}`)
      return isUp ? await isUp() : serving.output().includes('Ctrl-C stops')
    }, SERVES_WITHIN_MS)
  }

  /** Nothing of it is left. */
  async stop(): Promise<void> {
    for (const key of this.#serving.keys()) await this.#end(key)
    // A worker that keeps its engines leaves them to the next one, and there is none.
    for (const pid of enginesOf(this.data)) process.kill(-pid, 'SIGKILL')
  }

  async #end(key: string): Promise<void> {
    const serving = this.#serving.get(key)
    if (!serving) return
    this.#serving.delete(key)
    const { child, ended } = serving
    if (child.exitCode !== null || child.signalCode !== null) return
    process.kill(-child.pid!, 'SIGINT')
    const cut = setTimeout(() => process.kill(-child.pid!, 'SIGKILL'), RUN_WITHIN_MS)
    await ended
    // npm may end before what it has started.
    await until(() => !isGroupAlive(child.pid!))
    clearTimeout(cut)
  }

  #start(code: string): Serving {
    // A process group of its own, so that Ctrl-C reaches all of it, as a terminal does it.
    const child = spawn('sh', ['-eu', '-c', this.#asHere(code)], {
      cwd: this.folder,
      env: this.#env,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let text = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (some: string) => (text += some))
    return { child, ended: once(child, 'close'), output: () => text }
  }

  /** Addresses and fingerprints of a page are examples. */
  #asHere(code: string): string {
    const host = this.#address
    const addressed = code.replaceAll(/\b(127\.0\.0\.1|0\.0\.0\.0|first):8080\b/g, host)
    const file = join(this.data, 'endpoint.json')
    if (!addressed.includes('sha256:…')) return addressed
    const { fingerprint } = JSON.parse(readFileSync(this.#knownBy ?? file, 'utf8')) as { fingerprint: string }
    return addressed.replaceAll('sha256:…', fingerprint)
  }

  #knownBy: string | undefined

  /** The machine whose fingerprint it is told. */
  knows(other: Machine): void {
    this.#knownBy = join(other.data, 'endpoint.json')
  }
}

function isGroupAlive(leader: number): boolean {
  try {
    return process.kill(-leader, 0)
  } catch {
    return false
  }
}
