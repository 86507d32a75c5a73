import { lowerCase } from './wire/field-names.ts'

/** Headers that belong to one connection, not to the request. */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** What takes the place of headers, by their names in lower case; `undefined` takes one away. */
export type Instead = Readonly<Record<string, string | undefined>>

/**
 * The same as lines of a head, for when nothing else is done with them: no list is made of what is written anyway. Nothing
 * here holds a line break: what came was read as lines, and `instead` is ours.
 */
export function linesPassedOn(raw: readonly string[], instead: Instead, isLengthKnown = false): string {
  let lines = ''
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i]!
    const lower = lowerCase(name)
    if (lower === 'connection' && raw[i + 1] !== 'keep-alive') return toLines(passOn(raw, instead), isLengthKnown)
    const isOurs = HOP_BY_HOP.has(lower) || Object.hasOwn(instead, lower) || (isLengthKnown && lower === LENGTH)
    if (!isOurs) lines += `${name}: ${raw[i + 1]}\r\n`
  }
  for (const name in instead) {
    const value = instead[name]
    if (value !== undefined) lines += `${name}: ${value}\r\n`
  }
  return lines
}

const LENGTH = 'content-length'

function toLines(headers: readonly string[], isLengthKnown: boolean): string {
  let lines = ''
  for (let i = 0; i < headers.length; i += 2) {
    const isOurs = isLengthKnown && headers[i]!.toLowerCase() === LENGTH
    if (!isOurs) lines += `${headers[i]}: ${headers[i + 1]}\r\n`
  }
  return lines
}

/** Headers as they came, several of a name and all, with `instead` in the place of those that it names. */
export function passOn(raw: readonly string[], instead: Instead): string[] {
  let named: string[] | undefined
  const passed: string[] = []
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i]!.toLowerCase()
    if (name === 'connection') named = [...(named ?? []), ...namesIn(raw[i + 1]!)]
    else if (!HOP_BY_HOP.has(name) && !Object.hasOwn(instead, name)) passed.push(raw[i]!, raw[i + 1]!)
  }
  const rest = named ? without(passed, named) : passed
  for (const name in instead) {
    const value = instead[name]
    if (value !== undefined) rest.push(name, value)
  }
  return rest
}

function namesIn(list: string): string[] {
  return list.split(',').map((name) => name.trim().toLowerCase())
}

/** `Connection: x-custom` makes x-custom hop-by-hop as well, wherever it stands. */
function without(headers: readonly string[], names: readonly string[]): string[] {
  const left: string[] = []
  for (let i = 0; i < headers.length; i += 2) {
    if (!names.includes(headers[i]!.toLowerCase())) left.push(headers[i]!, headers[i + 1]!)
  }
  return left
}
