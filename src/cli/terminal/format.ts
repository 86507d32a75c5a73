/** Numbers as people read them. Pure. */

const GIB = 2 ** 30

/** `18.2 GiB`. */
export function gib(bytes: number): string {
  return `${(bytes / GIB).toFixed(1)} GiB`
}

/** `18.2 of 24.0 GiB`, with what is not known left out. */
export function gibOf(part: number | null, whole: number | null): string {
  if (whole === null) return 'not known'
  return part === null ? gib(whole) : `${(part / GIB).toFixed(1)} of ${gib(whole)}`
}

/** `18.2/24`, in GiB, for a narrow column. The whole is rounded unless it is small. */
export function shortGibOf(part: number | null, whole: number | null): string {
  if (whole === null || whole === 0) return '-'
  const wholeGib = whole / GIB
  const end = wholeGib.toFixed(wholeGib < 10 ? 1 : 0)
  return `${part === null ? '?' : (part / GIB).toFixed(wholeGib < 1000 ? 1 : 0)}/${end}`
}

const STEPS = [
  { unit: 's', ms: 1000, upTo: 60_000 },
  { unit: 'm', ms: 60_000, upTo: 3_600_000 },
  { unit: 'h', ms: 3_600_000, upTo: 86_400_000 },
  { unit: 'd', ms: 86_400_000, upTo: Number.POSITIVE_INFINITY },
] as const

/** `3s`, `4m`, `2h`, `5d`. Clocks differ: what lies a little in the future is now. */
export function span(ms: number): string {
  const step = STEPS.find(({ upTo }) => ms < upTo) ?? STEPS[3]
  return `${Math.floor(Math.max(0, ms) / step.ms)}${step.unit}`
}

/** `12 ms`, `1.2 s`, `4m`. */
export function duration(ms: number): string {
  if (ms < 1000) return `${ms} ms`
  return ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : span(ms)
}

/** Reads `30s`, `30m`, `1h`, `7d` into seconds; undefined for anything else. */
export function parseSpanS(text: string): number | undefined {
  const match = /^(\d{1,9})([smhd])$/.exec(text.trim())
  const step = STEPS.find(({ unit }) => unit === match?.[2])
  return match && step ? (Number(match[1]) * step.ms) / 1000 : undefined
}

/** `1 request`, `2 requests`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

/** Names of so many things are told, no more. */
const FEW = 5

/** `a, b, c, d, e and 7 more`. */
export function few(names: readonly string[]): string {
  const more = names.length > FEW ? ` and ${names.length - FEW} more` : ''
  return `${names.slice(0, FEW).join(', ')}${more}`
}

/** What a message says first; what to do about it may follow. */
export function firstSentence(text: string): string {
  return text.split(/[.](\s|$)/, 1)[0]!
}

/** As one word of a shell, whatever it holds: names come from other machines and are made to be pasted. */
export function shellWord(text: string): string {
  return /^[\w@%+:,./-]+$/.test(text) && !text.startsWith('-') ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}
