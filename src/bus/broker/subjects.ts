/**
 * Subjects are tokens joined by dots. In a pattern, the token `*` stands for any one token, and a last token `>` for
 * one or more. Inside the broker a subject is a string with one character per byte (latin1), so that any bytes pass
 * through unchanged whatever their encoding.
 */

/** A subscription deeper than this is refused: every token costs a node in the index. */
export const MAX_SUBSCRIPTION_TOKENS = 64

const DOT = 46
const STAR = 42
const GREATER = 62

/** Whether it may be subscribed to: no empty token, and `>` only at the end. */
export function isValidPattern(pattern: string): boolean {
  const tokens = pattern.split('.')
  return tokens.every((token, i) => token !== '' && (token !== '>' || i === tokens.length - 1))
}

/** Whether it names exactly one subject. `a*b` does: a wildcard is a whole token. */
export function isLiteral(subject: string): boolean {
  // Most subjects hold neither character, and then there is nothing to split.
  if (!subject.includes('*') && !subject.includes('>')) return true
  return subject.split('.').every((token) => token !== '*' && token !== '>')
}

/** What a strict (pedantic) publisher may publish to. */
export function isPublishable(subject: string): boolean {
  return isValidPattern(subject) && isLiteral(subject)
}

/** Whether `pattern` takes in `subject`, whose own `*` and `>` are taken as ordinary characters. Allocates nothing. */
export function matches(pattern: string, subject: string): boolean {
  let p = 0
  let s = 0
  for (;;) {
    const pEnd = tokenEnd(pattern, p)
    const sEnd = tokenEnd(subject, s)
    if (sEnd === s) return false
    const wild = pEnd - p === 1 ? pattern.charCodeAt(p) : 0
    if (wild === GREATER && pEnd === pattern.length) return isValidFrom(subject, s)
    if (wild !== STAR && !sameToken(pattern, p, pEnd, subject, s, sEnd)) return false
    if (pEnd === pattern.length || sEnd === subject.length) return pEnd === pattern.length && sEnd === subject.length
    p = pEnd + 1
    s = sEnd + 1
  }
}

/**
 * Whether every subject that `inner` can match is matched by `outer` too, so that a permission for `outer` covers a
 * subscription to `inner`.
 */
export function contains(outer: string, inner: string): boolean {
  const outerTokens = outer.split('.')
  const innerTokens = inner.split('.')
  for (const [i, token] of outerTokens.entries()) {
    const other = innerTokens[i]
    if (other === undefined) return false
    if (token === '>' && i === outerTokens.length - 1) return true
    if (other === '>' && i === innerTokens.length - 1) return false
    if (token !== '*' && token !== other) return false
  }
  return outerTokens.length === innerTokens.length
}

/** The one-character-per-byte form of a subject that came from elsewhere than the wire. */
export function toWire(subject: string): string {
  return Buffer.from(subject, 'utf8').toString('latin1')
}

function tokenEnd(subject: string, from: number): number {
  const dot = subject.indexOf('.', from)
  return dot < 0 ? subject.length : dot
}

function sameToken(a: string, aFrom: number, aEnd: number, b: string, bFrom: number, bEnd: number): boolean {
  if (aEnd - aFrom !== bEnd - bFrom) return false
  for (let i = aFrom, j = bFrom; i < aEnd; i += 1, j += 1) if (a.charCodeAt(i) !== b.charCodeAt(j)) return false
  return true
}

function isValidFrom(subject: string, from: number): boolean {
  return subject.charCodeAt(subject.length - 1) !== DOT && !subject.includes('..', from)
}
