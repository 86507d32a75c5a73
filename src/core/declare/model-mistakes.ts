import { nearNames } from '../lib/near-names.ts'
import type { Model, ModelOptions } from '../types.ts'

/** What nodes say that an engine takes. */
export interface EngineWants {
  name: string
  /** All options that it takes; null: any. */
  optionNames: readonly string[] | null
  /** Options that `uses` of its profile names: what it takes of a device, or how much memory. */
  memoryOptions: readonly string[]
  /** The option whose text may name further ones in `{{…}}`. */
  shellOption: string | null
  needsSource: boolean
}

export interface ModelMistake {
  /** The field, as the API calls it. */
  param: string
  text: string
}

/** What every engine takes, since Flotilla gives it to the program or uses it itself. */
const FOR_ALL = ['context', 'parallel', 'devices', 'ready_path']
/** So many names are listed in a sentence. */
const MOST_NAMES = 20

/**
 * What is wrong with a model by what the nodes say of their engines. Nodes may differ: what one of them takes is right.
 * Without any engine there is nothing to judge by. Pure.
 */
export function modelMistakes(
  { engine, source, options }: Pick<Model, 'engine' | 'source' | 'options'>,
  engines: readonly EngineWants[],
): ModelMistake[] {
  if (engines.length === 0) return []
  const mine = engines.filter(({ name }) => name === engine)
  if (mine.length === 0) return [{ param: 'engine', text: unknownEngine(engine, engines) }]
  const mistakes = unknownOptions(engine, options, mine)
  if (source === null && mine.every(({ needsSource }) => needsSource)) {
    mistakes.unshift({ param: 'source', text: `The engine ${engine} cannot start a model that has no source.` })
  }
  return mistakes
}

function unknownEngine(engine: string, engines: readonly EngineWants[]): string {
  return `No node knows the engine "${engine}". ${hint(engine, [...new Set(engines.map(({ name }) => name))])}`
}

function unknownOptions(engine: string, options: ModelOptions, mine: readonly EngineWants[]): ModelMistake[] {
  if (mine.some(({ optionNames }) => optionNames === null)) return []
  const known = [
    ...new Set(mine.flatMap((one) => [...one.optionNames!, ...one.memoryOptions, ...namedIn(one, options)])),
    ...FOR_ALL,
  ]
  const spelt = new Set(known.map(bare))
  return Object.keys(options).flatMap((name) => {
    if (spelt.has(bare(name))) return []
    return [{ param: `options.${name}`, text: `The engine ${engine} has no option "${name}". ${hint(name, known)}` }]
  })
}

/** The option that is a shell line, and what the line names. */
function namedIn({ shellOption }: EngineWants, options: ModelOptions): string[] {
  if (shellOption === null) return []
  const names = [...String(options[shellOption] ?? '').matchAll(/\{\{\s*([\w.-]+)\s*\}\}/g)].map(([, name]) => name!)
  return [shellOption, ...names]
}

/** Flags of programs are spelt with `-` or `_`. */
function bare(name: string): string {
  return name.replaceAll('-', '_')
}

function hint(name: string, known: readonly string[]): string {
  const near = nearNames(name, known)
  if (near.length > 0) return `Did you mean ${near.join(' or ')}?`
  const more = known.length - MOST_NAMES
  return `There are: ${known.toSorted().slice(0, MOST_NAMES).join(', ')}${more > 0 ? ` and ${more} more` : ''}.`
}
