import type { Range } from './load/random.ts'

/**
 * What flags and mixes say, as numbers; undefined for what is none. `50`, `50-400`; `2s`, `500ms`, `2s-10s`; `80%`, `0.8`.
 * A mix in YAML has numbers, a command line has text: both are taken.
 */
export type Said = string | number

export function parseNumber(said: Said): number | undefined {
  const text = String(said).trim()
  return /^\d{1,12}(\.\d{1,9})?$/.test(text) ? Number(text) : undefined
}

export function parseWhole(said: Said): number | undefined {
  const number = parseNumber(said)
  return number !== undefined && Number.isInteger(number) ? number : undefined
}

export function parseRange(said: Said): Range | undefined {
  return toRange(said, parseWhole)
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }

export function parseSpanMs(said: Said): number | undefined {
  const match = /^(\d{1,9}(?:\.\d{1,3})?)\s*(ms|s|m|h)$/.exec(String(said).trim())
  // Nothing is nothing in any unit.
  if (!match) return parseNumber(said) === 0 ? 0 : undefined
  return Math.round(Number(match[1]) * UNITS[match[2]!]!)
}

export function parseSpanRange(said: Said): Range | undefined {
  return toRange(said, parseSpanMs)
}

/** From 0 to 1. */
export function parseShare(said: Said): number | undefined {
  const text = String(said).trim()
  const share = text.endsWith('%') ? (parseNumber(text.slice(0, -1)) ?? 101) / 100 : parseNumber(text)
  return share !== undefined && share <= 1 ? share : undefined
}

function toRange(said: Said, parse: (text: string) => number | undefined): Range | undefined {
  const [first = '', last = first, ...more] = String(said).split('-')
  const [least, most] = [parse(first), parse(last)]
  if (least === undefined || most === undefined || most < least || more.length > 0) return undefined
  return { least, most }
}
