import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { formatBytes } from '../core/lib/bytes.ts'
import { counted, gibOf, parseSpanS, shellWord, shortGibOf, span } from './terminal/format.ts'
import { progressText } from './terminal/progress.ts'
import { painter } from './terminal/style.ts'
import { table } from './terminal/table.ts'
import { pad, plain, truncate, widthOf } from './terminal/text-width.ts'
import { wrap } from './terminal/wrap.ts'

const GIB = 2 ** 30

describe('the width of a text', () => {
  test.each([
    ['gpu-1', 5],
    ['Köln', 4],
    ['Ko\u0308ln', 4],
    ['船団', 4],
    ['ﾉｰﾄ', 3],
    ['서울', 4],
    ['🚢', 2],
    ['👩‍🚀', 2],
    ['🇩🇪', 2],
    ['⚠️', 2],
    ['…', 1],
  ])('%s takes %i columns', (text, width) => {
    expect(widthOf(text)).toBe(width)
  })

  test('is cut between characters, never within one', () => {
    expect(truncate('gpu-1', 5)).toBe('gpu-1')
    expect(truncate('gpu-10', 5)).toBe('gpu-…')
    expect(truncate('船団ノード', 6)).toBe('船団…')
    expect(truncate('👩‍🚀👩‍🚀👩‍🚀', 5)).toBe('👩‍🚀👩‍🚀…')
  })

  test('whatever it holds, a cut text fits and a padded one fills', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 1, max: 30 }), (text, width) => {
        const cut = truncate(text, width)
        expect(widthOf(cut)).toBeLessThanOrEqual(width)
        expect(widthOf(pad(cut, width))).toBe(width)
      }),
    )
  })

  test('text of others cannot move the cursor, change colours or turn the direction of writing', () => {
    expect(plain('a\u001B[31mred\u001B[0m\r\nb\u202Ec\tד')).toBe('ared bc ד')
  })
})

describe('a table that is too wide', () => {
  const columns = [
    { title: 'NAME', shrink: { to: 4, turn: 1 } },
    { title: 'STATE' },
    { title: 'LABELS', spare: 1 },
    { title: 'LAST SEEN' },
  ]
  const rows = [['a-long-name', 'healthy', 'tier=gpu', '12s']]
  const at = (width: number) => table(columns, rows, { width, paint: painter(false) })

  test('leaves out what can be missed most easily, and then from its end', () => {
    expect(at(80)).toEqual(['NAME         STATE    LABELS    LAST SEEN', 'a-long-name  healthy  tier=gpu  12s'])
    expect(at(24).at(-1)).toBe('a-long-n…  healthy  12s')
    expect(at(14).at(-1)).toBe('a-lo…  healthy')
  })

  test('fits any width that its first two columns fit', () => {
    for (let width = 13; width < 60; width += 1) {
      for (const line of at(width)) expect(widthOf(line), line).toBeLessThanOrEqual(width)
    }
  })
})

describe('numbers', () => {
  test.each([
    [-500, '0s'],
    [3999, '3s'],
    [59_999, '59s'],
    [4 * 60_000, '4m'],
    [2.9 * 3_600_000, '2h'],
    [5 * 86_400_000, '5d'],
    [400 * 86_400_000, '400d'],
  ])('%i ms are %s', (ms, text) => {
    expect(span(ms)).toBe(text)
  })

  test.each([
    ['90s', 90],
    ['30m', 1800],
    ['1h', 3600],
    ['7d', 604_800],
    ['7', undefined],
    ['1w', undefined],
    ['-1h', undefined],
    ['1.5h', undefined],
  ])('%s is %s seconds', (text, seconds) => {
    expect(parseSpanS(text)).toBe(seconds)
  })

  test('sizes are in GiB; what is not known is left out', () => {
    expect(gibOf(18.25 * GIB, 24 * GIB)).toBe('18.3 of 24.0 GiB')
    expect(gibOf(null, 24 * GIB)).toBe('24.0 GiB')
    expect(gibOf(null, null)).toBe('not known')
  })

  test.each([
    [18.21 * GIB, 24 * GIB, '18.2/24'],
    [0.3 * GIB, 0.5 * GIB, '0.3/0.5'],
    [701.4 * GIB, 1128 * GIB, '701/1128'],
    [null, 8 * GIB, '?/8.0'],
    [null, 0, '-'],
    [null, null, '-'],
  ])('%s of %s bytes in a column is %s', (part, whole, text) => {
    expect(shortGibOf(part, whole)).toBe(text)
  })

  test('one is not many', () => {
    expect([counted(0, 'node'), counted(1, 'node'), counted(2, 'node')]).toEqual(['0 nodes', '1 node', '2 nodes'])
  })

  test.each([
    ['gpu-1.example.com', 'gpu-1.example.com'],
    ['$(reboot)', "'$(reboot)'"],
    ["it's", String.raw`'it'\''s'`],
    ['-rf', "'-rf'"],
    ['', "''"],
  ])('%s is pasted as %s', (text, word) => {
    expect(shellWord(text)).toBe(word)
  })
})

describe('a table', () => {
  const columns = [
    { title: 'NAME', shrink: { to: 6, turn: 2 } },
    { title: 'IN FLIGHT', align: 'right' },
    { title: 'LABELS', shrink: { to: 6, turn: 1 } },
  ] as const
  const rows = [
    ['gpu-1', { text: '7', look: 'green' }, 'tier=fast'],
    ['船団ノード', '120', ''],
  ] as const
  const render = (width: number, colour = false): string[] => table(columns, rows, { width, paint: painter(colour) })

  test('has no spaces at the ends of lines and lines up wide characters', () => {
    expect(render(80)).toEqual([
      'NAME       IN FLIGHT  LABELS',
      'gpu-1              7  tier=fast',
      '船団ノード        120',
    ])
  })

  test('where it is too wide, titles take two lines first, then columns shrink in their turn', () => {
    expect(render(28)).toEqual([
      '               IN',
      'NAME       FLIGHT  LABELS',
      'gpu-1           7  tier=fast',
      '船団ノード     120',
    ])
    expect(render(26)[2]).toBe('gpu-1           7  tier=f…')
    expect(render(22)[3]).toBe('船団…      120')
  })

  test('never gets narrower than its first two columns allow', () => {
    expect(render(5).map(widthOf)).toEqual([14, 14, 14, 14])
  })

  test('paints words, not the space between them', () => {
    expect(render(80, true)[1]).toBe('gpu-1              \u001B[32m7\u001B[39m  tier=fast')
  })
})

describe('wrapped text', () => {
  test('a long word stands alone, or is broken', () => {
    expect(wrap('see /a/very/long/path there', 8)).toEqual(['see', '/a/very/long/path', 'there'])
    expect(wrap('see /a/very/long/path there', 8, { breakWords: true })).toEqual([
      'see',
      '/a/very/',
      'long/pat',
      'h there',
    ])
  })

  test('whatever it holds, it fits and nothing is lost', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 2, max: 20 }), (text, width) => {
        const lines = wrap(text, width, { breakWords: true })
        for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(width)
        expect(lines.join('').replaceAll(' ', '')).toBe(text.replaceAll(' ', ''))
      }),
    )
  })
})

describe('sizes and progress', () => {
  test.each([
    [0, '0 B'],
    [1023, '1023 B'],
    [1024, '1.0 KiB'],
    [812 * 2 ** 20, '812.0 MiB'],
    [4.1 * GIB, '4.1 GiB'],
    [3 * 2 ** 50, '3072.0 TiB'],
  ])('%i bytes are %s', (bytes, text) => {
    expect(formatBytes(bytes)).toBe(text)
  })

  const progress = { file: null, done_bytes: 0, total_bytes: null, bytes_per_s: null }
  test.each([
    [{}, ''],
    [{ total_bytes: 0 }, ''],
    [{ done_bytes: 2048 }, '2.0 KiB so far'],
    [{ done_bytes: 999, total_bytes: 1000 }, '99 % of 1000 B'],
    [{ done_bytes: 2000, total_bytes: 1000 }, '100 % of 1000 B'],
    [{ done_bytes: GIB, total_bytes: 2 * GIB, bytes_per_s: 1_250_000_000 }, '50 % of 2.0 GiB, 1.3 GB/s'],
    [{ done_bytes: GIB, total_bytes: 2 * GIB, bytes_per_s: 9_400 }, '50 % of 2.0 GiB, 9.4 kB/s'],
  ])('%j is "%s"', (fields, text) => {
    expect(progressText({ ...progress, ...fields })).toBe(text)
  })
})
