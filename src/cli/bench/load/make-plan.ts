import { AppError } from '../../../platform/errors.ts'
import type { Given } from '../../client.ts'
import { plain } from '../../terminal/text-width.ts'
import { MOST, type Part, type Plan } from './mix.ts'
import { readMix, type MixEntry } from './read-mix.ts'
import { DEFAULTS, settings } from '../settings.ts'
import { parseSpanMs, parseWhole, type Said } from '../values.ts'

const DEFAULT_FOR_MS = 30_000
const DEFAULT_TIMEOUT_MS = 300_000
const DEFAULT_IN_FLIGHT = 1000
const MOST_SEED = 2 ** 31 - 1

/** What the command line asks for, checked. */
export async function makePlan({ values, own }: Pick<Given, 'values' | 'own'>): Promise<Plan> {
  const forMs = flag(own, 'for', timeUpTo(1, MOST.forMs), 'a time such as 30s, 5m or 1h, at most 24h')
  const requests = flag(own, 'requests', countUpTo(MOST.requests), `a number from 1 to ${MOST.requests}`)
  const arrivals = own.get('arrivals') ?? 'poisson'
  if (arrivals !== 'poisson' && arrivals !== 'constant') {
    throw mistake(`--arrivals: expected poisson or constant, got "${plain(arrivals)}"`)
  }
  const time = 'a time such as 10s or 1m, at most 24h'
  return {
    parts: await readParts(values[0], own),
    seed: flag(own, 'seed', seedOf, `a whole number from 0 to ${MOST_SEED}`) ?? 1,
    arrivals,
    forMs: forMs ?? (requests === undefined ? DEFAULT_FOR_MS : MOST.forMs),
    mostConversations: requests ?? MOST.requests,
    rampMs: flag(own, 'ramp', timeUpTo(0, MOST.forMs), time) ?? 0,
    warmUpMs: flag(own, 'warm-up', timeUpTo(0, MOST.forMs), time) ?? 0,
    mostInFlight:
      flag(own, 'most-in-flight', countUpTo(MOST.inFlight), `a number from 1 to ${MOST.inFlight}`) ?? DEFAULT_IN_FLIGHT,
    timeoutMs: flag(own, 'timeout', timeUpTo(1, MOST.forMs), time) ?? DEFAULT_TIMEOUT_MS,
  }
}

async function readParts(model: string | undefined, own: ReadonlyMap<string, string>): Promise<Part[]> {
  const path = own.get('mix')
  const said = readSettings(own)
  if (path === undefined) {
    if (model === undefined) throw mistake('which model? Name one, or a file with --mix')
    if (said.rate === undefined) throw mistake('how many requests a second? Say so with --rate')
    return [partOf({ model, rate: said.rate }, said.rate, said)]
  }
  if (model !== undefined) throw mistake('give a model or --mix, not both')
  const entries = await readMix(path)
  const shares = entries.reduce((sum, { share = 0 }) => sum + share, 0)
  if (shares > 0 && said.rate === undefined)
    throw mistake(`${path} has shares: of how many requests a second? Say so with --rate`)
  if (shares === 0 && said.rate !== undefined)
    throw mistake(`every model in ${path} has a rate of its own: leave out --rate`)
  return entries.map((entry) => partOf(entry, entry.rate ?? (said.rate! * entry.share!) / shares, said))
}

type Settings = Partial<Omit<MixEntry, 'model' | 'share'>>

/** Flags say what counts for every model that the file says nothing else of. */
function readSettings(own: ReadonlyMap<string, string>): Settings {
  const all = Object.entries(settings).map(([name, { read, expected }]) => [
    name,
    flag<unknown>(own, name, read, expected),
  ])
  return Object.fromEntries(all.filter(([, value]) => value !== undefined)) as Settings
}

function partOf(entry: MixEntry, ratePerS: number, said: Settings): Part {
  return {
    model: entry.model,
    ratePerS,
    prompt: entry.prompt ?? said.prompt ?? DEFAULTS.prompt,
    answer: entry.answer ?? said.answer ?? DEFAULTS.answer,
    streamShare: entry.stream ?? said.stream ?? DEFAULTS.stream,
    turns: entry.turns ?? said.turns ?? DEFAULTS.turns,
    thinkMs: entry.think ?? said.think ?? DEFAULTS.think,
  }
}

function flag<T>(
  own: ReadonlyMap<string, string>,
  name: string,
  read: (said: Said) => T | undefined,
  expected: string,
): T | undefined {
  const said = own.get(name)
  if (said === undefined) return undefined
  const value = read(said)
  if (value === undefined) throw mistake(`--${name}: expected ${expected}, got "${plain(said)}"`)
  return value
}

function timeUpTo(leastMs: number, mostMs: number): (said: Said) => number | undefined {
  return (said) => {
    const ms = parseSpanMs(said)
    return ms !== undefined && ms >= leastMs && ms <= mostMs ? ms : undefined
  }
}

function countUpTo(most: number): (said: Said) => number | undefined {
  return (said) => {
    const count = parseWhole(said)
    return count !== undefined && count >= 1 && count <= most ? count : undefined
  }
}

function seedOf(said: Said): number | undefined {
  const seed = parseWhole(said)
  return seed !== undefined && seed <= MOST_SEED ? seed : undefined
}

function mistake(what: string): AppError {
  const ending = what.includes('?') ? '' : '.'
  return new AppError('usage', `flotilla bench: ${what}${ending} See flotilla bench --help.`)
}
