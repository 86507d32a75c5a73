import type { AdminClient } from './admin-client.ts'
import type { Cluster } from './cluster.ts'
import type { Invocation } from './parse-arguments.ts'
import { painter, type Paint } from './terminal/style.ts'
import type { Terminal } from './terminal/terminal.ts'
import type { Clock } from '../platform/run/clock.ts'

/** The tools of a command that talks to a cluster. */
export interface Client {
  api: AdminClient
  cluster: Cluster
  terminal: Terminal
  clock: Clock
  json: boolean
  /** Flags that make another command use the same cluster, to append to it. */
  sameCluster: string
}

/** The command line's values for a command, beside the common options. */
export type Given = Pick<Invocation, 'values' | 'own' | 'lists' | 'rest'>

/** One subcommand: does its work and returns the exit code. */
export type Act = (client: Client, given: Given) => Promise<number>

/** The exit code that shells expect after Ctrl-C. */
export const INTERRUPTED = 130

/** How text is rendered, and the time it refers to. */
export interface View {
  nowMs: number
  width: number
  paint: Paint
  sameCluster: string
}

export function viewOf({ api, terminal, sameCluster }: Client): View {
  return { nowMs: api.nowMs(), width: terminal.columns, paint: painter(terminal.colour), sameCluster }
}

/** The API's JSON when asked for, else the text. */
export function show({ json, terminal }: Client, reply: unknown, lines: () => readonly string[]): number {
  terminal.print(json ? JSON.stringify(reply, null, 2) : lines().join('\n'))
  return 0
}
