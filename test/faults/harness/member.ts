import { once } from 'node:events'
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { fileURLToPath } from 'node:url'
import { CLOCK_VARIABLE } from './engines.ts'
import { LogReader } from './log-reader.ts'
import { until } from './until.ts'

const main = fileURLToPath(new URL('../../../src/main.ts', import.meta.url))
const START_WITHIN_MS = 60_000
const preload = new URL('preload.ts', import.meta.url).href

export interface MemberOptions {
  /** As in `frontend-1`. */
  name: string
  /** Holds its data, log and clock. */
  folder: string
  host: string
  port: number
  args: readonly string[]
  env: Readonly<Record<string, string>>
  /** Where it really gets when it connects to an address: `host:port` to the port of a relay. */
  routes: Readonly<Record<string, number>>
  /** Its log goes through a pipe to a reader that can be made to stand still, instead of into a file. */
  isPiped?: boolean
}

/** One process of the cluster, which can be killed, stopped, frozen and started again as it was. */
export class Member {
  readonly name: string
  readonly host: string
  readonly port: number
  readonly data: string
  readonly folder: string
  readonly logFile: string
  readonly #options: MemberOptions
  readonly #clockFile: string
  #child: ChildProcess | undefined
  readonly #reader: LogReader | undefined

  constructor(options: MemberOptions) {
    this.#options = options
    this.name = options.name
    this.host = options.host
    this.port = options.port
    this.folder = options.folder
    this.data = join(options.folder, 'data')
    // A folder of its own, so that a disk of its own can be put there.
    this.logFile = join(options.folder, 'logs', 'log')
    this.#clockFile = join(options.folder, 'clock')
    mkdirSync(dirname(this.logFile), { recursive: true })
    if (options.isPiped) this.#reader = new LogReader(this.logFile)
  }

  get address(): string {
    return `${this.host}:${this.port}`
  }

  get url(): string {
    return `http://${this.address}`
  }

  get pid(): number {
    return this.#child!.pid!
  }

  get isRunning(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null
  }

  start(): void {
    const { args, env, routes, folder } = this.#options
    const log = this.#reader ? this.#reader.open() : openSync(this.logFile, 'a')
    this.#child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', main, ...args], {
      detached: true,
      stdio: ['pipe', log, log],
      env: {
        PATH: process.env['PATH'],
        HOME: folder,
        NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
        NODE_OPTIONS: `--import=${preload}`,
        FAULTS_MEMBER: '1',
        FAULTS_ROUTES: JSON.stringify(routes),
        [CLOCK_VARIABLE]: this.#clockFile,
        ...env,
      },
    })
    closeSync(log)
  }

  /** Serving, by its own word. */
  async serves(): Promise<void> {
    const isOver = async (): Promise<boolean> => !this.isRunning || (await fetch(`${this.url}/readyz`)).ok
    await until(isOver, START_WITHIN_MS, `${this.name} serves`)
    if (!this.isRunning) throw new Error(`${this.name} has ended:\n${this.logTail()}`)
  }

  signal(signal: NodeJS.Signals): void {
    if (this.isRunning) process.kill(this.pid, signal)
  }

  async kill(): Promise<void> {
    await this.#end('SIGKILL')
  }

  /** As a service manager stops it. */
  async stop(): Promise<void> {
    await this.#end('SIGTERM')
  }

  /** Its clock is off by this much from now on; that of its engines, too. */
  shiftClock(ms: number): void {
    writeFileSync(this.#clockFile, String(ms))
  }

  /** What reads its log stands still, and the pipe between them is full. */
  stopLogReader(): void {
    this.#reader!.stop()
  }

  letLogReaderGoOn(): void {
    this.#reader!.goOn()
  }

  dispose(): void {
    this.#reader?.dispose()
  }

  logTail(lines = 15): string {
    return readFileSync(this.logFile, 'utf8').trimEnd().split('\n').slice(-lines).join('\n')
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    if (!this.isRunning) return
    const exited = once(this.#child!, 'exit')
    process.kill(this.pid, signal)
    await exited
  }
}

/** One command of the program, to its end. */
export async function runMain(args: readonly string[]): Promise<void> {
  await promisify(execFile)(process.execPath, ['--disable-warning=ExperimentalWarning', main, ...args])
}
