import fc from 'fast-check'
import { expect, test } from 'vitest'
import { contains, isLiteral, isPublishable, isValidPattern, matches, toWire } from './subjects.ts'

/** Few tokens, so that random subjects often meet. */
const literalToken = fc.constantFrom('a', 'b', 'ab', 'a*', '>b')
const literal = fc.array(literalToken, { minLength: 1, maxLength: 4 }).map((tokens) => tokens.join('.'))
const pattern = fc
  .tuple(fc.array(fc.oneof(literalToken, fc.constant('*')), { maxLength: 4 }), fc.boolean())
  .map(([tokens, rest]) => [...tokens, ...(rest || tokens.length === 0 ? ['>'] : [])].join('.'))
const anything = fc.array(fc.constantFrom('a', 'b', '*', '>', ''), { maxLength: 5 }).map((tokens) => tokens.join('.'))

/** The definition, written to be obvious. */
function naiveMatches(patternText: string, subject: string): boolean {
  const wanted = patternText.split('.')
  const given = subject.split('.')
  if (given.includes('')) return false
  if (wanted.at(-1) === '>') {
    const front = wanted.slice(0, -1)
    return given.length > front.length && front.every((token, i) => token === '*' || token === given[i])
  }
  return wanted.length === given.length && wanted.every((token, i) => token === '*' || token === given[i])
}

test('matching agrees with its definition', () => {
  fc.assert(
    fc.property(pattern, fc.oneof(literal, anything), (p, subject) => {
      expect(matches(p, subject)).toBe(naiveMatches(p, subject))
    }),
    { numRuns: 2_000 },
  )
})

test('a pattern contains another exactly if it matches all that the other matches', () => {
  // One token more than patterns have, and one that no pattern names: enough to tell any two of them apart.
  const tokens = ['a', 'b', 'ab', 'a*', '>b', 'z']
  const universe = tokens.flatMap((one) => [one, ...tokens.flatMap((two) => [`${one}.${two}`, `${one}.${two}.z`])])
  const short = pattern.filter((p) => p.split('.').length <= 2)
  fc.assert(
    fc.property(short, short, (outer, inner) => {
      const within = universe.filter((subject) => naiveMatches(inner, subject))
      expect(contains(outer, inner)).toBe(within.every((subject) => naiveMatches(outer, subject)))
    }),
    { numRuns: 2_000 },
  )
})

test.for([
  ['a', true, true],
  ['a.b.c', true, true],
  ['a*b.>c', true, true],
  ['*', true, false],
  ['a.>', true, false],
  ['', false, false],
  ['.', false, false],
  ['a..b', false, false],
  ['a.', false, false],
  ['.a', false, false],
  ['>.a', false, false],
] as const)('%s: may be subscribed to %s, may be published to %s', ([subject, valid, publishable]) => {
  expect(isValidPattern(subject)).toBe(valid)
  expect(isPublishable(subject)).toBe(publishable)
})

test('a literal has no wildcard as a whole token', () => {
  expect(['a.b', 'a*', '*a.>b', 'a.*', '*', 'a.>'].map(isLiteral)).toEqual([true, true, true, false, false, false])
})

test('a subject from elsewhere gets one character per byte', () => {
  expect(toWire('größe')).toBe('grÃ¶Ã\x9fe')
})
