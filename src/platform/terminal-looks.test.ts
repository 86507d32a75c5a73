import { expect, test } from 'vitest'
import { knowsUtf8, toAscii, wantsColour } from './terminal-looks.ts'

test.each([
  [{}, true],
  [{ TERM: 'xterm-256color' }, true],
  [{ TERM: 'dumb' }, false],
  [{ FORCE_COLOR: '0' }, false],
  [{ FORCE_COLOR: 'false' }, false],
  [{ FORCE_COLOR: '1' }, true],
  [{ NO_COLOR: '1' }, false],
  [{ NO_COLOR: '' }, true],
])('a terminal with %j has colours: %s; a pipe has none', (env, isColoured) => {
  expect(wantsColour({ isTTY: true }, env)).toBe(isColoured)
  expect(wantsColour({}, env)).toBe(false)
})

test.each([
  [{}, true],
  [{ LANG: 'en_US.UTF-8' }, true],
  [{ LANG: 'C.utf8' }, true],
  [{ LANG: 'C' }, false],
  [{ LANG: 'POSIX' }, false],
  [{ LANG: 'de_DE' }, false],
  [{ LANG: 'en_US.UTF-8', LC_ALL: 'C' }, false],
  [{ LANG: 'C', LC_CTYPE: 'C.UTF-8' }, true],
  [{ LC_ALL: '', LANG: 'C' }, false],
])('the locale %j knows UTF-8: %s', (env, knows) => {
  expect(knowsUtf8(env)).toBe(knows)
})

test('our own signs have a form in ASCII, names of others stay', () => {
  expect(toAscii('qwen… a → b ▁█ модель')).toBe('qwen... a -> b _# модель')
})

test('JSON in ASCII means the same', () => {
  const value = { name: 'модель 🚢…', list: ['→'] }
  for (const text of [JSON.stringify(value), JSON.stringify(value, null, 2), JSON.stringify([value])]) {
    const ascii = toAscii(text)
    expect(ascii).toMatch(/^[\p{ASCII}]*$/u)
    expect(JSON.parse(ascii)).toEqual(JSON.parse(text))
  }
})
