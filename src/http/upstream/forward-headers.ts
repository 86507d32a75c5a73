import type { HeaderNames } from './passed-headers.ts'
import { lowerCase } from '../fast/field-names.ts'

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
const LENGTH = 'content-length'

/** Header overrides: the lower-case names that they replace or remove, and the lines to send instead. */
export class Instead {
  readonly names: HeaderNames
  /** As lines of a head, made by Flotilla only. */
  readonly lines: string

  constructor(names: HeaderNames, lines: string) {
    this.names = names
    this.lines = lines
  }

  /** Name, value, name, value … */
  pairs(): string[] {
    const lines = this.lines.split('\r\n').slice(0, -1)
    return lines.flatMap((line) => {
      const colon = line.indexOf(': ')
      return [line.slice(0, colon), line.slice(colon + 2)]
    })
  }
}

/** By names in lower case; `undefined` removes a header. */
export function instead(headers: Readonly<Record<string, string | undefined>>): Instead {
  let lines = ''
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) lines += `${name}: ${value}\r\n`
  }
  return new Instead(new Set(Object.keys(headers)), lines)
}

/**
 * The received headers with the overrides applied, as lines of a head. Headers that occur several times stay several.
 * `isLengthKnown`: leaves out Content-Length, because the caller writes it.
 */
export function linesPassedOn(raw: readonly string[], ours: Instead, isLengthKnown = false): string {
  let lines = ''
  for (let i = 0; i < raw.length; i += 2) {
    const name = lowerCase(raw[i]!)
    if (name === 'connection' && raw[i + 1] !== 'keep-alive') return toLines(passOn(raw, ours), isLengthKnown)
    const isPassed = !HOP_BY_HOP.has(name) && !ours.names.has(name) && !(isLengthKnown && name === LENGTH)
    if (isPassed) lines += `${raw[i]}: ${raw[i + 1]}\r\n`
  }
  return lines + ours.lines
}

/** The same as name, value, name, value … */
export function passOn(raw: readonly string[], ours: Instead): string[] {
  let named: string[] | undefined
  const passed: string[] = []
  for (let i = 0; i < raw.length; i += 2) {
    const name = lowerCase(raw[i]!)
    if (name === 'connection') named = [...(named ?? []), ...namesIn(raw[i + 1]!)]
    else if (!HOP_BY_HOP.has(name) && !ours.names.has(name)) passed.push(raw[i]!, raw[i + 1]!)
  }
  const rest = named ? without(passed, named) : passed
  return [...rest, ...ours.pairs()]
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

function toLines(headers: readonly string[], isLengthKnown: boolean): string {
  let lines = ''
  for (let i = 0; i < headers.length; i += 2) {
    const isSaid = isLengthKnown && headers[i]!.toLowerCase() === LENGTH
    if (!isSaid) lines += `${headers[i]}: ${headers[i + 1]}\r\n`
  }
  return lines
}
