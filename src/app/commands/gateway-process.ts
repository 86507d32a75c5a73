import { rmSync } from 'node:fs'
import type { Config } from '../../cli/config/options.ts'
import type { Lifetime } from '../../platform/run/lifetime.ts'
import { version } from '../../platform/version.ts'
import type { FigureMessage } from '../compose/metrics-of-processes.ts'
import { writeWhole } from '../../platform/write-whole.ts'

/** What a gateway that is one of several processes and the process that started them tell each other. */

/** Where it serves, and the certificate it shows there, if any. */
export interface Serving {
  url: string
  fingerprint?: string | undefined
}

export type FromChild = { serving: Serving } | FigureMessage
export const END = 'end'

/** One of several processes: which, and where all of them listen. */
export interface Slot {
  number: number
  port: number
}

const SLOT_VARIABLE = 'FLOTILLA_GATEWAY_PROCESS'

/** What a child finds in its environment. */
export function slotEnvironment({ number, port }: Slot): Record<string, string> {
  return { [SLOT_VARIABLE]: `${number}:${port}` }
}

/** Which of several processes this is; undefined when it is the only one, or the parent of them. */
export function processSlot(): Slot | undefined {
  const match = /^(\d+):(\d+)$/.exec(process.env[SLOT_VARIABLE] ?? '')
  // Without a parent to talk to the variable is a leftover of somebody's environment.
  return match && process.send ? { number: Number(match[1]), port: Number(match[2]) } : undefined
}

/** Where it is not so, node:cluster spreads connections by itself. */
export const canSharePort = ['linux', 'freebsd', 'sunos', 'aix'].includes(process.platform)

export function toParent(message: FromChild): void {
  process.send?.(message)
}

/** The parent says so by a message: a signal that reaches the whole group would come a second time, and so cut everything. */
export function untilParentEnds(): Promise<void> {
  return new Promise((resolve) => process.on('message', (message) => message === END && resolve()))
}

/** Tells others on this machine that it serves. */
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
