import { basename } from 'node:path'
import { z } from 'zod'
import { AppError } from '../../platform/errors.ts'
import { readYamlFile } from '../yaml-file.ts'
import { commandWords } from './command-words.ts'
import { nothingImported, type Imported, type ImportedModel, type Importer } from './imported.ts'
import { readLlamaServer } from './llama-server-line.ts'

const MOST_BYTES = 4 * 1024 * 1024
/** Below it a rule is refused. */
const LEAST_TTL_S = 10
/** Macros may name others. */
const MOST_ROUNDS = 10

const macros = z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).default({})
const modelSchema = z.looseObject({
  cmd: z.string(),
  macros,
  env: z.array(z.string()).default([]),
  proxy: z.string().nullish(),
  aliases: z.array(z.string()).default([]),
  ttl: z.int().nullish(),
  cmdStop: z.string().nullish(),
})
const configSchema = z.looseObject({
  macros,
  models: z.record(z.string(), modelSchema),
  groups: z.record(z.string(), z.unknown()).nullish(),
  hooks: z.looseObject({ on_startup: z.looseObject({ preload: z.array(z.string()).default([]) }).nullish() }).nullish(),
})
type SwapConfig = z.infer<typeof configSchema>
type SwapModel = z.infer<typeof modelSchema>

/** The models of llama-swap's configuration. */
export const importLlamaSwap: Importer = async ({ values, env }) => {
  const path = values[0]!
  const { values: read, whereIs } = await readYamlFile(path, MOST_BYTES, 'configuration of llama-swap')
  const { data, error } = configSchema.safeParse(read)
  if (data) return fromLlamaSwap(data, env)
  const [issue] = error.issues
  const text = `${whereIs(issue!.path)}: ${issue!.path.join('.')}: ${issue!.message}. Is this a configuration of llama-swap?`
  throw new AppError('usage', text)
}

/** Pure: their models in our terms. */
export function fromLlamaSwap(config: SwapConfig, env: Readonly<Record<string, string | undefined>>): Imported {
  const { document, notes } = nothingImported()
  const preloaded = new Set(config.hooks?.on_startup?.preload ?? [])
  for (const [name, theirs] of Object.entries(config.models)) {
    const { model, notes: told } = modelOf(name, theirs, { ...config.macros, ...theirs.macros }, env)
    document.models.push(model)
    notes.push(...told)
    if (preloaded.has(name)) document.rules.push({ model_name: name, min_replicas: 1 })
    else if (theirs.ttl && theirs.ttl > 0) {
      document.rules.push({ model_name: name, scale_to_zero_after_s: Math.max(LEAST_TTL_S, theirs.ttl) })
    }
  }
  const groups = Object.keys(config.groups ?? {})
  if (groups.length > 0) {
    const which = groups.length === 1 ? `The group ${groups[0]}` : `The groups ${groups.join(', ')}`
    notes.push(
      `${which}: what runs together is decided by the memory that there is. A rule with min_replicas keeps a model.`,
    )
  }
  return { document, notes }
}

function modelOf(
  name: string,
  theirs: SwapModel,
  macros: SwapConfig['macros'],
  env: Readonly<Record<string, string | undefined>>,
): { model: ImportedModel; notes: string[] } {
  const notes: string[] = []
  const line = substituted(theirs.cmd, { ...macros, PORT: '{{port}}', MODEL_ID: name }, env)
  const words = commandWords(line)
  const isLlamaServer = basename(words[0] ?? '') === 'llama-server'
  const read = isLlamaServer && theirs.env.length === 0 ? readLlamaServer(words.slice(1)) : undefined
  if (read?.notes.length) notes.push(...read.notes.map((note) => `${name}: ${note}.`))
  if (read && words[0] !== 'llama-server') {
    notes.push(
      `${name}: it is served by the llama-server that each machine finds in its PATH, or installs (flotilla engines install llama-server), in place of ${words[0]}.`,
    )
  }
  const model: ImportedModel = read
    ? { name, engine: 'llama-server', ...read.model }
    : { name, engine: 'command', options: { command: commandOf(theirs, words) } }
  if (!read) notes.push(...aboutCommand(name, theirs, line))
  if (theirs.aliases.length > 0) notes.push(`${name}: its aliases (${theirs.aliases.join(', ')}) are not known here.`)
  if (theirs.cmdStop) notes.push(`${name}: cmdStop has no place here: its process is ended, with all that it started.`)
  const rest = Object.keys(theirs).filter((key) => !UNDERSTOOD.has(key))
  if (rest.length > 0) notes.push(`${name}: ${rest.join(', ')} has no place here.`)
  return { model, notes }
}

/** As it is run by a shell, on one line, with its environment before it. */
function commandOf({ env }: SwapModel, words: readonly string[]): string {
  const set = env.map((pair) => {
    const at = pair.indexOf('=')
    return `${pair.slice(0, at)}=${shellQuoted(pair.slice(at + 1))}`
  })
  return [...set, 'exec', ...words.map(shellQuoted)].join(' ')
}

function aboutCommand(name: string, { proxy }: SwapModel, line: string): string[] {
  const notes = [`${name}: runs as it is, and counts as ready when its port is open. Memory is learned, not computed.`]
  if (!line.includes('{{port}}'))
    notes.push(`${name}: its command does not take \${PORT}: replace its port by {{port}}.`)
  if (/--host[= ](?!127\.|localhost)/.test(line))
    notes.push(`${name}: engines must listen on 127.0.0.1: change --host.`)
  if (proxy && !proxy.includes('${PORT}'))
    notes.push(`${name}: proxy ${proxy} has no place here: engines serve on {{port}}.`)
  return notes
}

function substituted(
  text: string,
  values: Readonly<Record<string, string | number | boolean>>,
  env: Readonly<Record<string, string | undefined>>,
): string {
  let line = text
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    const next = line.replaceAll(/\$\{(env\.)?([\w-]+)\}/g, (whole, fromEnv: string | undefined, name: string) => {
      const value = fromEnv === undefined ? values[name] : env[name]
      return value === undefined ? whole : String(value)
    })
    if (next === line) break
    line = next
  }
  return line
}

function shellQuoted(word: string): string {
  return /^[\w@%+=:,./{}-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
}

const UNDERSTOOD: ReadonlySet<string> = new Set([
  'cmd',
  'macros',
  'env',
  'proxy',
  'aliases',
  'ttl',
  'cmdStop',
  'checkEndpoint',
  // For people.
  'name',
  'description',
  'metadata',
  'unlisted',
  'sendLoadingState',
])
