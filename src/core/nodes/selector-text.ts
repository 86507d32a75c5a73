import { canonicalJson } from '../lib/canonical-json.ts'
import type { Selector } from '../types.ts'
import { isAbsence, isNegated, labelOf } from './selector.ts'

export type ReadSelector = { ok: true; selector: Selector } | { ok: false; problem: string }

/**
 * Reads a selector as people write it in one line: `tier=gpu,zone=a|b,disk!=slow,!spot`. What has a comma or a bar in it
 * is written as the API takes it, in JSON. Whether a node can ever meet it is checked in `src/api/selector.ts`.
 */
export function readSelectorText(text: string): ReadSelector {
  return text.trimStart().startsWith('{') ? parseJson(text) : parseParts(text)
}

/** The same line for the same meaning, such that it reads back as it was. Empty for any node. */
export function printSelector(given: Selector): string {
  const wanted = Object.fromEntries(
    Object.entries(given).map(([key, value]) => [
      key,
      typeof value !== 'string' && value.length === 1 ? value[0]! : value,
    ]),
  )
  const text = Object.entries(wanted).map(printPart).join(',')
  const read = readSelectorText(text)
  return read.ok && canonicalJson(read.selector) === canonicalJson(wanted) ? text : JSON.stringify(wanted)
}

function parseJson(text: string): ReadSelector {
  try {
    return { ok: true, selector: JSON.parse(text) as Selector }
  } catch {
    return { ok: false, problem: 'it begins with "{" and is not valid JSON' }
  }
}

function parseParts(text: string): ReadSelector {
  const parts: [string, string | string[]][] = []
  for (const part of text.split(',').map((one) => one.trim())) {
    if (part === '') continue
    const read = parsePart(part)
    if (!read)
      return { ok: false, problem: `"${part}" is no condition; expected key=value, key=a|b, key!=value or !key` }
    if (parts.some(([key]) => key === read[0])) return { ok: false, problem: `${read[0]} is there twice` }
    parts.push(read)
  }
  // Not by assignment: `__proto__` is a key like any other.
  return { ok: true, selector: Object.fromEntries(parts) }
}

function parsePart(part: string): [string, string | string[]] | undefined {
  if (isAbsence(part)) return part.includes('=') ? undefined : [part, '']
  const match = /^(.*?)(!?)=(.*)$/s.exec(part)
  if (!match) return undefined
  const [key, negation, value] = [match[1]!.trim(), match[2]!, match[3]!.trim()]
  if (negation === '!') return value.includes('|') ? undefined : [key, `!${value}`]
  const values = value.split('|').map((one) => one.trim())
  return [key, values.length === 1 ? value : values]
}

function printPart([key, wanted]: [string, string | readonly string[]]): string {
  if (isAbsence(key)) return `!${labelOf(key)}`
  if (typeof wanted !== 'string') return `${key}=${wanted.join('|')}`
  return isNegated(wanted) ? `${key}!=${wanted.slice(1)}` : `${key}=${wanted}`
}
