import fs from 'node:fs'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'

/**
 * ReDoS: a regular expression that goes back over the same text again and again takes hours for a few kilobytes. Every one
 * in src gets what such expressions stumble over. Those that are linear, or nearly, need microseconds for it; the limit is
 * there for those that do not end, and a slow machine does not reach it.
 */

const LIMIT_MS = 10_000
const LENGTH = 2000
/** What is repeated: single letters of every kind, and pairs that match in more than one way. */
const PUMPS = [
  ' ',
  '\t',
  '\n',
  '\r\n',
  'a',
  'A',
  '0',
  '_',
  '-',
  '.',
  '/',
  ':',
  ';',
  '=',
  ',',
  '"',
  '\\',
  '%',
  '*',
  '#',
  '@',
  '[',
  '(',
  '{',
  '\u00e9',
]
const PAIRS = ['a ', 'a.', 'a-', '0.', ';a=', '\\"', ';a="', 'a=,', '/a', ' \n', 'a:', '00:', '-a', '{{a', 'aA0_']
/** What makes a match fail at the very end, where going back begins. */
const ENDS = ['', '\u0001', '!', '"']

const root = new URL('../src/', import.meta.url)
const found = fs
  .globSync('**/*.ts', { cwd: root })
  .filter((file) => !/(\.test|-suite)\.ts$|(^|\/)testing\//.test(file))
  .toSorted()
  .flatMap((file) => literalsIn(fs.readFileSync(new URL(file, root), 'utf8')).map((literal) => ({ file, literal })))
const different = [...new Map(found.map((one) => [one.literal, one])).values()]

test('the search for regular expressions finds them', () => {
  expect(different.length).toBeGreaterThan(200)
  expect(literalsIn(String.raw`const a = b / c; x.replace(/[/"]\/+/g, '') // /no/`)).toEqual([String.raw`/[/"]\/+/g`])
})

test('one that goes back for ever would be seen', () => {
  expect(() => attack('/^(a+)+$/', 200)).toThrow(/timed out/)
})

test('ReDoS: no regular expression of src goes back over the same text for ever', () => {
  const slow = different.flatMap(({ file, literal }) => {
    try {
      attack(literal, LIMIT_MS)
      return []
    } catch (error) {
      return [`src/${file}: ${literal}: ${String(error)}`]
    }
  })
  expect(slow).toEqual([])
}, 120_000)

/** All texts against one expression, with a limit on all of them together. */
function attack(literal: string, limitMs: number): void {
  const starts = ['', startOf(literal)]
  const texts = [...PUMPS, ...PAIRS].flatMap((pump) =>
    ENDS.flatMap((end) => starts.map((start) => start + pump.repeat(LENGTH / pump.length) + end)),
  )
  runInNewContext(
    `const pattern = ${literal}; for (const text of texts) text.search(pattern)`,
    { texts },
    { timeout: limitMs },
  )
}

/** The letters that it begins with, so that what follows is reached. */
function startOf(literal: string): string {
  return /^\/\^?((?:[\w: =<>-]|\\\/)*)/.exec(literal)![1]!.replaceAll('\\', '').slice(0, -1)
}

function literalsIn(source: string): string[] {
  const literal =
    /(?<=[(,=:[!&|?{};]\s*|return )\/(?![*/])(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[dgimsuvy]*(?=\s*[.,;)\]}:]|$)/gm
  return [...source.replaceAll(/^\s*(\/\/|\*|\/\*).*$/gm, '').matchAll(literal)]
    .map(([text]) => text)
    .filter(isExpression)
}

function isExpression(text: string): boolean {
  const [, pattern, flags] = /^\/(.*)\/(\w*)$/s.exec(text)!
  try {
    return new RegExp(pattern!, flags) instanceof RegExp
  } catch {
    return false
  }
}
