import { hash, splitTokens } from './tokens.ts'

export interface Ask {
  model: string
  seed: number
  /** The complete input of the model; the answer depends on all of it. */
  prompt: string
  /** The last message of the user; the answer repeats it. */
  asked: string
  /** Most tokens to write. */
  maxTokens: number
  /** Write until `maxTokens` instead of stopping where the text ends by itself (vLLM's `ignore_eos`, for load tests). */
  ignoreEnd?: boolean
  stop?: readonly string[]
}

export type FinishReason = 'stop' | 'length'

/**
 * The tokens of an answer, one by one, and why it ended. A pure function of what is asked: the same request gives the
 * same text on every replica and every machine, so a test can tell a lost or doubled token from a different answer.
 */
export function* writeTokens(ask: Ask): Generator<string, FinishReason> {
  const stops = ask.stop ?? []
  if (stops.length === 0) return yield* takeTokens(ask)
  const longest = Math.max(...stops.map((stop) => stop.length))
  const source = takeTokens(ask)
  // What may still turn out to be the start of a stop text is held back: a sent token cannot be taken back.
  let held = ''
  const heldTokens: string[] = []
  let next = source.next()
  for (; !next.done; next = source.next()) {
    held += next.value
    heldTokens.push(next.value)
    const cut = earliest(held, stops)
    if (cut !== undefined) {
      yield* cutTokens(heldTokens, cut)
      return 'stop'
    }
    while (heldTokens[0] !== undefined && held.length - heldTokens[0].length >= longest - 1) {
      const token = heldTokens.shift() ?? ''
      held = held.slice(token.length)
      yield token
    }
  }
  yield* heldTokens
  return next.value
}

/** The whole answer at once. */
export function writeText(ask: Ask): { text: string; tokens: number; finishReason: FinishReason } {
  const source = writeTokens(ask)
  let text = ''
  let tokens = 0
  for (let next = source.next(); ; next = source.next()) {
    if (next.done) return { text, tokens, finishReason: next.value }
    text += next.value
    tokens += 1
  }
}

function* takeTokens(ask: Ask): Generator<string, FinishReason> {
  let left = ask.maxTokens
  for (const sentence of sentences(ask)) {
    for (const token of splitTokens(sentence)) {
      if (left === 0) return 'length'
      left -= 1
      yield token
    }
  }
  return 'stop'
}

function earliest(text: string, stops: readonly string[]): number | undefined {
  const found = stops.map((stop) => text.indexOf(stop)).filter((at) => at >= 0)
  return found.length === 0 ? undefined : Math.min(...found)
}

function* cutTokens(tokens: readonly string[], length: number): Generator<string> {
  let left = length
  for (const token of tokens) {
    if (left <= 0) return
    yield token.slice(0, left)
    left -= token.length
  }
}

/** The first sentences are for a first curl line; the rest is filler. */
function* sentences({ model, seed, prompt, asked, ignoreEnd }: Ask): Generator<string> {
  yield `Flotilla works end to end: your request reached a replica of "${model}", and this text comes from the built-in simulator.`
  yield ' I am a simulated engine, so I can repeat what you say, but I do not understand it.'
  const quote = shorten(asked)
  if (quote !== '') yield ` You wrote: "${quote}"${/[.!?…]$/.test(quote) ? '' : '.'}`
  yield ' Give this model a real engine and the same request gets a real answer.'
  yield ' Until then, here is a little of the sea.'
  const pick = chooser(hash(`${model}\0${seed}\0${prompt}`))
  const count = ignoreEnd === true ? Infinity : FEWEST_CALM + pick(MOST_CALM - FEWEST_CALM + 1)
  const clause = dealer(CLAUSES, pick)
  const place = dealer(PLACES, pick)
  const time = dealer(TIMES, pick)
  for (let written = 0; written < count; written += 1) {
    yield pick(2) === 0 ? ` ${capital(clause())} ${place()}.` : ` ${capital(time())}, ${clause()} ${place()}.`
  }
}

const FEWEST_CALM = 3
const MOST_CALM = 8

/** Any clause goes with any place and any time. */
const CLAUSES = [
  'the tide turns without hurry',
  'a small sail leans into the breeze',
  'the harbour master counts the masts',
  'a grey gull rides the swell',
  'the lighthouse keeps its slow rhythm',
  'an old tugboat rumbles on',
  'the morning fog begins to lift',
  'the convoy holds its course',
  'a long swell rolls in',
  'the night watch trims the lamps',
  'the ferry keeps good time',
  'a lone buoy nods',
  'the anchor holds',
  'a bell sounds twice',
  'the pilot boat leads the way',
  'the wind veers to the west',
  'a seal comes up and looks about',
  'the last boat finds its mooring',
] as const
const PLACES = [
  'off the point',
  'near the harbour mouth',
  'along the coast',
  'under a pale sky',
  'by the breakwater',
  'in the lee of the island',
  'within sight of land',
  'out in the bay',
  'across from the pier',
  'where the channel bends',
] as const
const TIMES = [
  'at dawn',
  'before long',
  'toward evening',
  'when the rain has passed',
  'on the ebb',
  'at slack water',
  'in the last light',
  'as the stars come out',
] as const

/** Deals the list out in a shuffled order, over and over: nothing is heard twice before all was heard once. */
function dealer<T>(list: readonly T[], pick: (count: number) => number): () => T {
  let hand: T[] = []
  return () => {
    if (hand.length === 0) hand = [...list]
    const [card] = hand.splice(pick(hand.length), 1)
    return card as T
  }
}

function capital(words: string): string {
  return words.slice(0, 1).toUpperCase() + words.slice(1)
}

const LONGEST_QUOTE = 160

/** One line, no half characters, cut at a word where there is one near. */
function shorten(text: string): string {
  // Looking at a bounded start keeps a 32 MiB prompt from being copied.
  const line = text
    .slice(0, LONGEST_QUOTE * 8)
    .replace(/\s+/g, ' ')
    .trim()
  if (line.length <= LONGEST_QUOTE) return line.toWellFormed()
  const cut = line.slice(0, LONGEST_QUOTE)
  const space = cut.lastIndexOf(' ')
  return `${(space > LONGEST_QUOTE / 2 ? cut.slice(0, space) : cut).replace(/[\ud800-\udbff]$/, '').toWellFormed()}…`
}

/** mulberry32: small, seeded, the same on every machine. */
function chooser(seed: number): (count: number) => number {
  let state = seed
  return (count) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % count
  }
}
