import type { AdminClient } from './admin-client.ts'
import type { Cluster } from './cluster.ts'
import type { Invocation } from './parse-arguments.ts'
import { painter, type Paint } from './terminal/style.ts'
import type { Terminal } from './terminal/terminal.ts'
import type { Clock } from '../platform/run/clock.ts'

/** What a command that talks to a cluster works with. */
export interface Client {
  api: AdminClient
  cluster: Cluster
  terminal: Terminal
  clock: Clock
  json: boolean
  /** The flags that lead a further command to the same cluster, to be put at its end. */
  sameCluster: string
}

/** What the command line holds for a command, beside the options of all. */
export type Given = Pick<Invocation, 'values' | 'own' | 'lists' | 'rest'>

/** One subcommand: does its work and answers with the exit code. */
export type Act = (client: Client, given: Given) => Promise<number>

/** The exit code that shells expect of a program that Ctrl-C has ended. */
export const INTERRUPTED = 130

/** How rendered text looks and what it is reckoned from. */
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
