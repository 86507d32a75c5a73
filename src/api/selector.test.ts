import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { LABEL_LIMITS } from '../core/nodes/labels.ts'
import { mismatchOf } from '../core/nodes/selector.ts'
import type { Selector } from '../core/types.ts'
import { printSelector } from '../core/nodes/selector-text.ts'
import { parseSelector } from './selector-text.ts'
import { selector } from './selector.ts'

function problemOf(given: unknown): string | undefined {
  const issue = selector.safeParse(given).error?.issues[0]
  return issue && [...issue.path, issue.message].join(': ')
}

describe('a selector that no node can ever meet is refused by name', () => {
  test.each<[unknown, string]>([
    [{ tier: 7 }, 'tier: must be text, or a list of texts; a number needs quotes'],
    [{ tier: ['a', true] }, 'tier: must be text, or a list of texts; a number needs quotes'],
    [{ tier: { a: 'b' } }, 'tier: must be text'],
    ['tier=a', 'must be labels, as in {"tier": "fast"}'],
    [null, 'must be labels, as in {"tier": "fast"}'],
    [{ tier: [] }, 'tier: an empty list matches no node: name a value, or leave the label out'],
    [{ tier: ['a', '!b'] }, 'tier: "!b" cannot be one of several'],
    [{ tier: '!!b' }, 'tier: a value that begins with "!" cannot be asked for'],
    [{ '!spot': 'yes' }, '!spot: asks for a node without the label, so it takes no value: write ""'],
    [{ '!spot': ['yes'] }, '!spot: asks for a node without the label'],
    [{ '!!spot': '' }, '!!spot: a label whose name begins with "!" cannot be asked for'],
    [{ '!': '' }, 'a label needs a key'],
    [{ '': 'x' }, 'a label needs a key'],
    [{ spot: 'yes', '!spot': '' }, '!spot: no node can meet this and "spot" at once'],
    [{ spot: ['yes'], '!spot': '' }, '!spot: no node can meet this and "spot" at once'],
    [{ tier: 'a\nb' }, 'label "tier": no control characters'],
    [{ tier: '! a' }, 'label "tier": no spaces at the ends'],
    [{ tier: ['a', ' b'] }, 'label "tier": no spaces at the ends'],
    [{ tier: 'v'.repeat(201) }, 'label "tier": the value may have 200 characters'],
    [{ [`!${'k'.repeat(101)}`]: '' }, "a label's key may have 100 characters, this one has 101"],
  ])('%j', (given, message) => {
    expect(problemOf(given)).toContain(message)
  })

  test('too many values or labels', () => {
    const names = Array.from({ length: 101 }, (_, i) => `v${i}`)
    expect(problemOf({ tier: names })).toBe('tier: may name 100 values, not 101')
    expect(problemOf(Object.fromEntries(names.map((name) => [name, 'v'])))).toContain('a node may have 100 labels')
  })

  test.each<[Selector]>([
    [{}],
    [{ tier: 'a', zone: ['a', 'b'], disk: '!slow', '!spot': '' }],
    [{ 'node.replica-slots': '2' }],
    [{ 'node.replica-slots': '!1' }],
    // Redundant, and true of a node without the label.
    [{ spot: '!yes', '!spot': '' }],
    [{ [`!${'k'.repeat(LABEL_LIMITS.keyChars)}`]: '' }],
  ])('but not %j', (given) => {
    expect(selector.parse(given)).toEqual(given)
  })
})

describe('a selector in one line', () => {
  test('has all that a selector may hold', () => {
    const line = 'tier=gpu,zone=a|b,disk!=slow,!spot'
    const wanted = { tier: 'gpu', zone: ['a', 'b'], disk: '!slow', '!spot': '' }
    expect(parseSelector(line)).toEqual({ ok: true, selector: wanted })
    expect(printSelector(wanted)).toBe(line)
  })

  test.each<[string, Selector]>([
    ['', {}],
    [' tier = gpu , zone = a | b , disk != slow ,', { tier: 'gpu', zone: ['a', 'b'], disk: '!slow' }],
    ['note=a=b', { note: 'a=b' }],
    ['зона=Köln 🚢', { зона: 'Köln 🚢' }],
    ['tier=', { tier: '' }],
    ['tier!=', { tier: '!' }],
    ['tier=!a', { tier: '!a' }],
    ['{"note": "a, b"}', { note: 'a, b' }],
  ])('%j is read', (text, wanted) => {
    expect(parseSelector(text)).toEqual({ ok: true, selector: wanted })
  })

  test.each([
    ['gpu', '"gpu" is no condition; expected key=value, key=a|b, key!=value or !key'],
    ['!spot=yes', '"!spot=yes" is no condition'],
    ['disk!=a|b', '"disk!=a|b" is no condition'],
    ['tier=a,tier=b', 'tier is there twice'],
    ['=a', 'a label needs a key'],
    ['tier=a,!tier', '!tier: no node can meet this and "tier" at once'],
    ['{"tier": ', 'it begins with "{" and is not valid JSON'],
    ['{"tier": 7}', 'tier: must be text'],
  ])('%j is refused', (text, problem) => {
    const read = parseSelector(text)
    expect(read).toMatchObject({ ok: false, problem: expect.stringContaining(problem) })
  })

  test('what has signs of its own in it is written as JSON', () => {
    expect(printSelector({ note: 'a, b' })).toBe('{"note":"a, b"}')
    expect(printSelector({ 'a=b': 'c' })).toBe('{"a=b":"c"}')
    expect(printSelector({ zone: ['a|b', 'c'] })).toBe('{"zone":["a|b","c"]}')
    expect(printSelector({})).toBe('')
  })

  test('reads back as what it was written for, whatever is in it', () => {
    const word = fc.oneof(
      fc.constantFrom('a', 'b', 'a|b', 'a,b', 'a=b', '!a', '{', '', 'ü'),
      fc.string({ maxLength: 5 }),
    )
    const wanted = fc.oneof(word, fc.array(word, { minLength: 1, maxLength: 3 }))
    const selectors = fc.dictionary(word, wanted, { maxKeys: 4 }).filter((one) => selector.safeParse(one).success)
    const labels = fc.dictionary(word, word, { maxKeys: 4 })
    fc.assert(
      fc.property(selectors, labels, (given, has) => {
        const text = printSelector(given)
        const read = parseSelector(text)
        if (!read.ok) throw new Error(`${text}: ${read.problem}`)
        expect(printSelector(read.selector)).toBe(text)
        expect(mismatchOf(read.selector, has) === undefined).toBe(mismatchOf(given, has) === undefined)
      }),
      { numRuns: 500 },
    )
  })
})
