import { flagOf, type Config } from './config/options.ts'
import { systemClock, type Clock } from '../platform/run/clock.ts'
import { adminClient } from './admin-client.ts'
import { bench } from './bench/bench.ts'
import type { Act, Client } from './client.ts'
import { findCluster } from './cluster.ts'
import { completion } from './completion/completion.ts'
import { dashboard } from './dashboard/dashboard.ts'
import { doctor } from './doctor/doctor.ts'
import { engineActs } from './engines/acts.ts'
import { shellWord } from './terminal/format.ts'
import { runImport } from './import/run-import.ts'
import { keyActs } from './keys/acts.ts'
import { logs } from './logs/logs.ts'
import { modelActs } from './models/acts.ts'
import { inspect } from './models/inspect/inspect.ts'
import { nodeActs } from './nodes/acts.ts'
import type { Invocation } from './parse-arguments.ts'
import { apply, exportDocument, plan, whatIf } from './plan/acts.ts'
import { runModel } from './run/run.ts'
import { ruleActs } from './rules/acts.ts'
import { status } from './status/status.ts'
import { processTerminal, type Terminal } from './terminal/terminal.ts'
import { tokenActs } from './token/acts.ts'
import { showToken } from './token/show.ts'
import { top } from './top/top.ts'
import { why } from './why/why.ts'

/** By command and subcommand; a command without any has one act of its own. */
const acts: Record<string, Record<string, Act>> = {
  nodes: nodeActs,
  models: modelActs,
  rules: ruleActs,
  plan: { '': plan },
  apply: { '': apply },
  export: { '': exportDocument },
  whatif: { '': whatIf },
  status: { '': status },
  top: { '': top },
  dashboard: { '': dashboard },
  engines: engineActs,
  logs: { '': logs },
  why: { '': why },
  run: { '': runModel },
  bench: { '': bench },
  token: tokenActs,
  keys: keyActs,
}

/** Runs a command that talks to a cluster. */
export async function runClient(
  invocation: Invocation,
  config: Config,
  terminal: Terminal = processTerminal(),
  clock: Clock = systemClock,
): Promise<number> {
  const { command, subcommand, flags } = invocation
  // These need no cluster to run.
  if (command.name === 'token' && subcommand?.name === 'show') return showToken(config, terminal)
  if (command.name === 'models' && subcommand?.name === 'inspect') {
    return inspect({ wanted: invocation.values[0]!, config, terminal, clock })
  }
  if (command.name === 'completion') return completion(invocation.values[0]!, terminal)
  if (command.name === 'doctor') return doctor(config, terminal)
  const openClient = (): Client => clientOf(flags, config, terminal, clock)
  if (command.name === 'import') return runImport(invocation, { config, terminal, env: process.env, openClient })
  const act = acts[command.name]?.[subcommand?.name ?? '']
  if (!act) throw new Error(`flotilla ${command.name} ${subcommand?.name ?? ''} is declared and not written`)
  return act(openClient(), invocation)
}

function clientOf(flags: Invocation['flags'], config: Config, terminal: Terminal, clock: Clock): Client {
  const cluster = findCluster(config)
  const sameCluster = (['data', 'url', 'ca', 'fingerprint'] as const)
    .flatMap((name) => (flags.has(name) ? [` ${flagOf(name)} ${shellWord(String(flags.get(name)!.value))}`] : []))
    .join('')
  return { api: adminClient(cluster), cluster, terminal, clock, json: config.json, sameCluster }
}
