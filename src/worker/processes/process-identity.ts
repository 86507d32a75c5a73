import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { AppError } from '../../platform/errors.ts'
import { fileProblem } from '../../platform/file-problem.ts'
import { hasProc, lookAt } from './process-look.ts'

/** Identifies one process: pids are reused, but not with the same start time in the same boot of the machine. */
export interface ProcessIdentity {
  pid: number
  startedAt: string
  /** The boot of the machine, not of the worker. */
  boot: string
  /** Random; the engine and its children carry it in their environment. */
  mark: string
}

/** Undefined when the process has ended already. */
export function identify(pid: number, mark: string): ProcessIdentity | undefined {
  const look = lookAt(pid)
  if (look === 'unknown') throw new AppError('unavailable', `Cannot read the start time of process ${pid}.`)
  return look === 'none' ? undefined : { pid, startedAt: look.startedAt, boot: machineBoot(), mark }
}

export function isRunning(identity: ProcessIdentity): boolean {
  return stateOf(identity) === 'running'
}

/** `unknown` when the system could not be asked: treat it neither as gone nor as ours. */
export function stateOf({ pid, startedAt, boot }: ProcessIdentity): 'running' | 'ended' | 'unknown' {
  if (boot !== machineBoot()) return 'ended'
  const look = lookAt(pid)
  if (look === 'none' || look === 'unknown') return look === 'none' ? 'ended' : 'unknown'
  return look.startedAt === startedAt && !look.isZombie ? 'running' : 'ended'
}

/**
 * Whether the group of an engine that ended just now may still exist. The kernel never reuses a pid while a group has
 * it, so a new process with that number means that the group is empty.
 */
export function groupOf({ pid, startedAt, boot }: ProcessIdentity): 'ours' | 'empty' | 'unknown' {
  if (boot !== machineBoot()) return 'empty'
  const look = lookAt(pid)
  if (look === 'unknown') return 'unknown'
  return look === 'none' || look.startedAt === startedAt ? 'ours' : 'empty'
}

let knownBoot: string | undefined

/** Identifies the current boot of the machine. */
export function machineBoot(): string {
  knownBoot ??= readBoot()
  return knownBoot
}

function readBoot(): string {
  try {
    return hasProc
      ? readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
      : execFileSync('sysctl', ['-n', 'kern.bootsessionuuid'], { encoding: 'utf8' }).trim()
  } catch (error) {
    const hint = 'Without it a worker cannot tell its engines from other processes.'
    throw new AppError('usage', `Cannot read the boot id of this machine: ${fileProblem(error)}. ${hint}`, {
      cause: error,
    })
  }
}
