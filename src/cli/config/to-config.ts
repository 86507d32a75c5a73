import { nearNames } from '../../core/lib/near-names.ts'
import { AppError } from '../../platform/errors.ts'
import { defaultOf, options, type Config, type Env, type Option, type OptionName } from './options.ts'
import type { ConfigFile, Given } from './sources.ts'

export interface Sources {
  flags: ReadonlyMap<string, Given>
  environment: ReadonlyMap<string, Given>
  file: ConfigFile | undefined
  env: Env
  /** The command that runs: a few have defaults of their own. */
  command?: string
}

/** Flags win over the environment, the environment over the file, the file over the default. Pure. */
export function toConfig({ flags, environment, file, env, command }: Sources): Config {
  refuseUnknownKeys(file)
  const config: Record<string, unknown> = {}
  for (const [name, option] of Object.entries(options) as [OptionName, Option<unknown>][]) {
    const given = flags.get(name) ?? environment.get(name) ?? file?.values.get(name) ?? byDefault(option, env, command)
    config[name] = given && parse(option, given)
  }
  return refuseContradictions(config as Config)
}

function byDefault(option: Option<unknown>, env: Env, command: string | undefined): Given | undefined {
  const value = defaultOf(option, env, command)
  return value === undefined ? undefined : { value, where: 'default' }
}

function parse(option: Option<unknown>, given: Given): unknown {
  const { value, where } = given
  const result = option.type.safeParse(option.located ? given : value)
  if (result.success) return result.data
  const got = option.secret ? '' : `, got ${JSON.stringify(value)}`
  throw new AppError('usage', `${where}: ${result.error.issues[0]?.message ?? 'not valid'}${got}.`)
}

function refuseUnknownKeys(file: ConfigFile | undefined): void {
  for (const [name, { where }] of file?.values ?? []) {
    if (name in options) continue
    const near = nearNames(name, Object.keys(options))
    const hint =
      near.length > 0 ? `did you mean ${near.join(' or ')}?` : `known are ${Object.keys(options).join(', ')}.`
    throw new AppError('usage', `${where}: there is no such option; ${hint}`)
  }
}

function refuseContradictions(config: Config): Config {
  const { heartbeat_ms, offline_after_ms, tls, tls_cert, tls_key, nats_cert, nats_key } = config
  if ((nats_cert === undefined) !== (nats_key === undefined)) {
    throw new AppError('usage', 'nats_cert and nats_key belong together: give both or neither.')
  }
  if ((tls_cert === undefined) !== (tls_key === undefined)) {
    throw new AppError('usage', 'tls_cert and tls_key belong together: give both or neither.')
  }
  if (tls !== 'off' && tls_cert !== undefined) {
    throw new AppError('usage', `tls ${tls} and tls_cert are two ways to have a certificate: give one of them.`)
  }
  if (offline_after_ms > heartbeat_ms) return config
  const why = 'every node would be offline between two heartbeats'
  throw new AppError(
    'usage',
    `offline_after_ms (${offline_after_ms}) must be more than heartbeat_ms (${heartbeat_ms}): ${why}.`,
  )
}
