import { isAbsolute } from 'node:path'
import type { ReportedEngineMessage } from '../../api/bus/messages.ts'
import { engineMemory, engineUses, optionNames, type EngineProfile } from '../../api/engine-profile.ts'
import { programOf } from './find-program.ts'
import type { InstalledEngine } from './installed.ts'
import { OWN_PLACEHOLDERS, placeholdersIn, SOURCE_PLACEHOLDERS } from './placeholders.ts'
import type { KnownEngine } from './profiles.ts'

type OperationMessage = NonNullable<ReportedEngineMessage['operation']>

/** What this node knows about an engine now. */
export interface EngineFacts {
  name: string
  /** Undefined when it was installed and its profile has been removed since. */
  known: KnownEngine | undefined
  program: string | undefined
  installed: InstalledEngine | undefined
  /** The running operation, else the last one. */
  running: OperationMessage | undefined
  /** The operation to report. */
  operation: OperationMessage | undefined
}

/** An engine as heartbeats report it; pure. */
export function describeEngine(facts: EngineFacts): ReportedEngineMessage {
  const { name, known, installed, operation } = facts
  return {
    name,
    source: known?.source ?? 'user',
    ...stateOf(facts),
    version: installed?.version ?? null,
    serves: known?.profile?.serves ?? [],
    ...(known?.profile?.serves_no_other ? { serves_no_other: true } : {}),
    memory: known?.profile?.memory ?? engineMemory.enum.on_load,
    uses: known?.profile?.uses ?? engineUses.parse({}),
    ...wantsOf(known?.profile),
    operation: operation ? { ...operation, stopped: [...operation.stopped] } : null,
  }
}

/**
 * Which options a model must set, and may set, for this engine. Defaults are left out: this is part of every heartbeat.
 */
function wantsOf(
  profile: EngineProfile | undefined,
): Pick<ReportedEngineMessage, 'option_names' | 'shell_option' | 'needs_source'> {
  if (!profile) return {}
  const { option_names: names, shell_option: line, command, env } = profile
  // A group of arguments is left out where a placeholder has no value; a plain argument cannot be.
  const plain = command.filter((argument) => typeof argument === 'string')
  const needsSource = plain.some((argument) => placeholdersIn(argument).some((name) => SOURCE_PLACEHOLDERS.has(name)))
  const used = [...command.flat(), ...Object.values(env)].flatMap(placeholdersIn)
  const all = names && [...new Set([...names, ...used.filter((name) => !OWN_PLACEHOLDERS.has(name))])]
  return {
    // If there are more names, or longer ones, than a report may hold, any name is accepted: better than a refused
    // report.
    ...(optionNames.safeParse(all).success ? { option_names: all } : {}),
    ...(line === undefined ? {} : { shell_option: line }),
    ...(needsSource ? { needs_source: true } : {}),
  }
}

function stateOf({ name, known, program, running }: EngineFacts): Pick<ReportedEngineMessage, 'state' | 'reason'> {
  if (!known) {
    const reason = `The engine "${name}" is installed, but no profile has this name any more. Bring it back, or delete the engine.`
    return { state: 'broken', reason }
  }
  if (!known.profile) return { state: 'broken', reason: known.broken }
  if (running?.state === 'running' && running.kind !== 'delete') return { state: 'installing', reason: null }
  if (program !== undefined) return { state: 'available', reason: null }
  return { state: comesByItself(known.profile) ? 'installable' : 'missing', reason: whyMissing(known.profile) }
}

/** True when a replica that needs the program triggers its installation. */
export function comesByItself({ install, install_when: when }: EngineProfile): boolean {
  return install !== undefined && when === 'needed'
}

function whyMissing(profile: EngineProfile): string {
  const program = programOf(profile)
  const missing = isAbsolute(program) ? 'is not there, or may not be run' : 'is not in PATH'
  if (comesByItself(profile)) return `The program "${program}" ${missing} yet; it will be installed when it is needed.`
  const how = profile.install ? '' : ' …'
  const fix = `Install it on the node, or: flotilla engines install ${profile.name}${how}`
  return `The program "${program}" ${missing}. ${fix}`
}
