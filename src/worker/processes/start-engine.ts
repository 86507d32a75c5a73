import { spawn, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { AppError, messageOf } from '../../platform/errors.ts'
import { MARK_VARIABLE } from './engine-mark.ts'
import { followEngine, type EngineHooks, type EngineProcess, type Exit } from './engine-process.ts'
import { removeIdentity, writeIdentity } from './identity-file.ts'
import { closeAll, makePipes, openPipes } from './log-pipes.ts'
import { LogReader, type OnLine } from './log-reader.ts'
import { identify, type ProcessIdentity } from './process-identity.ts'

export interface EngineCommand {
  argv: readonly string[]
  env: NodeJS.ProcessEnv
  cwd: string
  /** The replica's own folder: its identity file and its log pipes are kept there. */
  folder: string
}

export interface StartHooks extends EngineHooks {
  /**
   * The process exists but runs nothing yet: what this callback records is recorded before the engine can do anything.
   */
  onSpawned?: (identity: ProcessIdentity) => void | Promise<void>
}

/**
 * Starts an engine in its own session and group. A sudden end of this process never leaves an unknown engine behind: it
 * starts a shell that waits for a word, and becomes the engine, with the same pid and start time, only after the
 * identity has been recorded. If the worker dies before that, the shell reads the end of its input and exits.
 */
export async function startEngine(command: EngineCommand, hooks: StartHooks): Promise<EngineProcess> {
  check(command)
  const { folder } = command
  const mark = randomBytes(16).toString('hex')
  await makePipes(folder)
  const { child, logs } = spawnHeld(command, mark, hooks.onLine)
  const ended = endOf(child)
  try {
    const identity = await identityOf(child, mark, command.argv[0]!)
    writeIdentity(folder, identity)
    await hooks.onSpawned?.(identity)
    child.stdin!.end('go\n')
    return followEngine({ identity, folder, logs, ended, clock: hooks.clock, onLeave: () => child.unref() })
  } catch (error) {
    if (child.kill('SIGKILL')) await ended
    logs.close()
    removeIdentity(folder, { mark })
    throw error
  }
}

/** Checks for mistakes that the shell would report cryptically, or that the operating system blames on the shell. */
function check({ argv: [program], cwd }: EngineCommand): void {
  if (!program || program.startsWith('-')) {
    throw new AppError('bad_request', `"${program ?? ''}" is no program that an engine could be started with.`)
  }
  if (!statSync(cwd, { throwIfNoEntry: false })?.isDirectory()) {
    throw new AppError('bad_request', `Cannot start ${program}: there is no folder ${cwd} to start it in.`)
  }
}

/** The shell's $0: its own error messages begin with it. */
const SHELL_NAME = 'flotilla-engine'
const HELD = 'read -r go || exit 0; exec "$@" </dev/null'

function spawnHeld(
  { argv, env, cwd, folder }: EngineCommand,
  mark: string,
  onLine: OnLine,
): { child: ChildProcess; logs: LogReader } {
  const { forEngine, forUs } = openPipes(folder)
  const logs = new LogReader(forUs, onLine, (line) => inPlainWords(line, argv[0]!))
  try {
    const child = spawn('/bin/sh', ['-c', HELD, SHELL_NAME, ...argv], {
      stdio: ['pipe', ...forEngine],
      detached: true,
      cwd,
      env: { ...env, [MARK_VARIABLE]: mark },
    })
    // The shell may end before it has read the word, or before it is signalled; its exit status reports how it ended.
    child.stdin?.on('error', () => {})
    child.on('error', () => {})
    return { child, logs }
  } catch (error) {
    logs.close()
    throw cannotStart(argv[0]!, error)
  } finally {
    closeAll(forEngine)
  }
}

/** Rewrites "flotilla-engine: 1: exec: nothing: not found", which differs between shells and ends with the reason. */
function inPlainWords(line: string, program: string): string {
  if (!line.startsWith(`${SHELL_NAME}: `)) return line
  return `Cannot run the program "${program}": ${line.slice(line.lastIndexOf(': ') + 2)}.`
}

function endOf(child: ChildProcess): Promise<Pick<Exit, 'code' | 'signal'>> {
  return new Promise((resolve) => child.once('exit', (code, signal) => resolve({ code, signal })))
}

async function identityOf(child: ChildProcess, mark: string, program: string): Promise<ProcessIdentity> {
  if (child.pid === undefined) {
    const [error] = (await once(child, 'error')) as [unknown]
    throw cannotStart(program, error)
  }
  // In the same turn of the event loop as the start: until the child is reaped, no other process can have its pid.
  const identity = identify(child.pid, mark)
  if (!identity) throw cannotStart(program, 'it ended at once')
  return identity
}

function cannotStart(program: string, reason: unknown): AppError {
  return new AppError('unavailable', `Cannot start ${program}: ${messageOf(reason)}.`, { cause: reason })
}
