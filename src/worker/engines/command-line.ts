import type { EngineProfile } from '../../api/engine-profile.ts'
import type { ModelOptions } from '../../core/types.ts'
import { AppError } from '../../platform/errors.ts'
import {
  fillIn,
  OWN_PLACEHOLDERS,
  placeholdersIn,
  SOURCE_PLACEHOLDERS,
  type PlaceholderValues,
} from './placeholders.ts'
import { noDevicesIn } from './visible-devices.ts'

/** The values that one replica contributes to its engine's command line. */
export interface LineValues {
  /** Where the profile's program was found. */
  program: string
  port: number
  model: string
  options: ModelOptions
  /** The model's file or folder on this node. */
  modelPath?: string | undefined
  source?: string | null | undefined
  /**
   * Indexes of the devices it may use, unless the model's option overrides them. Undefined leaves the choice to the
   * engine.
   */
  devices?: readonly number[] | undefined
}

export interface CommandLine {
  argv: [string, ...string[]]
  /** Set for the engine in addition to the worker's environment. */
  env: Record<string, string>
  /** The name by which the engine knows the model, when requests must be changed to it. */
  requestModel: string | undefined
  /** How to detect that this replica is ready. */
  ready: EngineProfile['ready']
}

const LOOPBACK = '127.0.0.1'
const READY_PATH = 'ready_path'

/**
 * Builds the command line of one replica; pure. Options of the model that no placeholder uses follow at the end as
 * flags, so that they win in programs where the last flag wins.
 */
export function commandLine(profile: EngineProfile, given: LineValues): CommandLine {
  const who: Who = { engine: profile.name, model: given.model }
  for (const name of Object.keys(given.options)) {
    if (OWN_PLACEHOLDERS.has(name))
      throw new AppError('bad_request', `${optionOf(name, who)} is set by Flotilla. Remove it.`)
  }
  const values = valuesOf(profile, given)
  const line = fillInShellLine(profile, values, who)
  const [first, ...rest] = profile.command
  const argv: [string, ...string[]] = [
    profile.program === undefined ? given.program : needed(first, values, who),
    ...rest.flatMap((argument) => argumentsOf(argument, values, who)),
    ...flagsOf(profile, given.options, line, who),
  ]
  const env = environmentOf(profile.env, values)
  const { request_model: requestModel } = profile
  for (const text of [...argv, ...Object.values(env)]) {
    if (text.includes('\0')) throw new AppError('bad_request', `An option of ${nameOf(who)} contains a null character.`)
  }
  return {
    argv,
    env,
    requestModel: requestModel === undefined ? undefined : needed(requestModel, values, who),
    ready: readinessOf(profile, given.options, who),
  }
}

interface Who {
  engine: string
  model: string
}

function valuesOf(profile: EngineProfile, given: LineValues): Map<string, string> {
  const { options, devices, modelPath, source } = given
  const values = new Map(Object.entries(options).map(([name, value]) => [name, String(value)]))
  const set = (name: string, value: string | number | null | undefined): void => {
    if (value !== undefined && value !== null) values.set(name, String(value))
  }
  set('host', LOOPBACK)
  set('port', given.port)
  set('model', given.model)
  set('program', given.program)
  set('model_path', modelPath)
  set('source', source)
  set('source_name', sourceName(source))
  if (options['devices'] === undefined) set('devices', devices?.join(','))
  const total = Number(options['context']) * Number(options['parallel'] ?? profile.parallel)
  if (Number.isSafeInteger(total)) set('context_total', total)
  return values
}

/** The name in a source, for engines that fetch models themselves. Files and addresses have none. */
function sourceName(source: string | null | undefined): string | undefined {
  const [, scheme, name] = /^([a-z]+):([^#]+)/.exec(source ?? '') ?? []
  return scheme === undefined || /^(file|https?|frontend|bundled)$/.test(scheme) ? undefined : name
}

/** Fills in the model's own shell line, with each value quoted for the shell. Returns the line as the model gave it. */
function fillInShellLine(profile: EngineProfile, values: Map<string, string>, who: Who): string {
  const { shell_option: option } = profile
  const line = option === undefined ? undefined : values.get(option)
  if (option === undefined || line === undefined) return ''
  const quoted = new Map([...values].map(([name, value]) => [name, `'${value.replaceAll("'", String.raw`'\''`)}'`]))
  values.set(option, needed(line, quoted, who))
  return line
}

/** A plain argument must have all its values; a group is left out when one is missing. */
function argumentsOf(argument: string | string[], values: PlaceholderValues, who: Who): string[] {
  if (typeof argument === 'string') return [needed(argument, values, who)]
  // With no devices there is nothing to pass to a flag that lists them.
  if (values.get('devices') === '' && argument.some(namesDevices)) return []
  const filled = argument.map((part) => fillIn(part, values))
  if (filled.some(({ missing }) => missing !== undefined)) return []
  return filled.flatMap((part) => (part.missing === undefined ? [part.text] : []))
}

function needed(text: string, values: PlaceholderValues, who: Who): string {
  const filled = fillIn(text, values)
  if (filled.missing === undefined) return filled.text
  const isFromSource = SOURCE_PLACEHOLDERS.has(filled.missing)
  const fix = isFromSource ? 'Give the model a source that fits.' : `Give the model the option "${filled.missing}".`
  throw new AppError('bad_request', `The engine "${who.engine}" needs {{${filled.missing}}} for "${who.model}". ${fix}`)
}

function flagsOf(profile: EngineProfile, options: ModelOptions, shellLine: string, who: Who): string[] {
  if (profile.options === 'none') return []
  const texts = [...profile.command.flat(), ...Object.values(profile.env), profile.request_model ?? '', shellLine]
  const taken = new Set(texts.flatMap(placeholdersIn))
  if (taken.has('context_total')) taken.add('context')
  taken.add(READY_PATH)
  const flags: string[] = []
  for (const [name, value] of Object.entries(options)) {
    if (taken.has(name) || value === false) continue
    if (!/^[A-Za-z0-9][\w.-]*$/.test(name)) {
      throw new AppError('bad_request', `${optionOf(name, who)} cannot become a flag of the program. Rename it.`)
    }
    const flag = `--${name.replaceAll('_', '-')}`
    if (value === true) flags.push(flag)
    else if (profile.options === 'pairs') flags.push(flag, String(value))
    else flags.push(`${flag}=${value}`)
  }
  return flags
}

function namesDevices(text: string): boolean {
  return placeholdersIn(text).includes('devices')
}

/**
 * Omits a variable whose placeholder has no value. For an empty device list it uses the value by which that runtime
 * hides all devices.
 */
function environmentOf(env: EngineProfile['env'], values: PlaceholderValues): Record<string, string> {
  const set: Record<string, string> = {}
  for (const [name, text] of Object.entries(env)) {
    const filled = fillIn(text, values)
    if (filled.missing !== undefined) continue
    const isNone = values.get('devices') === '' && namesDevices(text)
    set[name] = isNone ? noDevicesIn(name) : filled.text
  }
  return set
}

function readinessOf(profile: EngineProfile, options: ModelOptions, who: Who): EngineProfile['ready'] {
  const path = options[READY_PATH]
  if (path === undefined) return profile.ready
  if (typeof path === 'string' && path.startsWith('/')) return { http: path }
  throw new AppError('bad_request', `${optionOf(READY_PATH, who)} must be a path such as /health.`)
}

function optionOf(name: string, who: Who): string {
  return `The option "${name}" of ${nameOf(who)}`
}

function nameOf({ engine, model }: Who): string {
  return `the model "${model}" (engine "${engine}")`
}
