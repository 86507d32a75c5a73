import { rmSync } from 'node:fs'
import type { Config } from '../../cli/config/options.ts'
import type { Lifetime } from '../../platform/run/lifetime.ts'
import { version } from '../../platform/version.ts'
import type { FigureMessage } from '../compose/metrics-of-processes.ts'
import { writeWhole } from '../../platform/write-whole.ts'

/** Messages between a gateway that is one of several processes and its parent. */

/** The URL where it serves, and its certificate, if any. */
export interface Serving {
  url: string
  fingerprint?: string | undefined
}

export type FromChild = { serving: Serving } | FigureMessage
export const END = 'end'

/** One of several processes: its number, and the shared port. */
export interface Slot {
  number: number
  port: number
}

const SLOT_VARIABLE = 'FLOTILLA_GATEWAY_PROCESS'

/** The environment of a child process. */
export function slotEnvironment({ number, port }: Slot): Record<string, string> {
  return { [SLOT_VARIABLE]: `${number}:${port}` }
}

/** Which of several processes this is; undefined when it is the only one, or the parent of them. */
export function processSlot(): Slot | undefined {
  const match = /^(\d+):(\d+)$/.exec(process.env[SLOT_VARIABLE] ?? '')
  // Without a parent process, the variable was inherited by accident.
  return match && process.send ? { number: Number(match[1]), port: Number(match[2]) } : undefined
}

/** Elsewhere node:cluster distributes connections itself. */
export const canSharePort = ['linux', 'freebsd', 'sunos', 'aix'].includes(process.platform)

export function toParent(message: FromChild): void {
  process.send?.(message)
}

/**
 * The parent sends a message: a signal to the whole group would arrive a second time, and so end everything at once.
 */
export function untilParentEnds(): Promise<void> {
  return new Promise((resolve) => process.on('message', (message) => message === END && resolve()))
}

/** Announces to programs on this machine that it serves. */
export function announceGateway({ ready_file: path }: Config, serving: Serving, life: Lifetime): void {
  if (path === undefined) return
  writeWhole(path, `${JSON.stringify({ ...serving, pid: process.pid })}\n`)
  life.own(path, () => rmSync(path, { force: true }))
}

export function gatewayBanner({ url, fingerprint }: Serving, folder: string, processes = 1): string {
  const count = processes > 1 ? ` with ${processes} processes` : ''
  const certificate = fingerprint === undefined ? '' : `  TLS        ${fingerprint}\n`
  return `\nFlotilla ${version} is serving${count}\n\n  Endpoint   ${url}/v1\n${certificate}  Data       ${folder}\n\nCtrl-C stops it.\n\n`
}
