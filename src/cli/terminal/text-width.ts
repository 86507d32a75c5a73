import { stripVTControlCharacters } from 'node:util'

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

/** Scripts and symbols that terminals draw two columns wide. */
const WIDE =
  /^(?![\uFF61-\uFFDC])(?:[\p{Script=Han}\p{Script=Hangul}\p{Script=Hiragana}\p{Script=Katakana}\p{Emoji_Presentation}\u3000-\u303E\uFF01-\uFF60\uFFE0-\uFFE6])|\uFE0F/u
const INVISIBLE = /^[\p{Mn}\p{Me}\p{Cf}]+$/u

/** The columns that a text takes in a terminal. */
export function widthOf(text: string): number {
  let width = 0
  for (const { segment } of graphemes.segment(text)) width += widthOfGrapheme(segment)
  return width
}

/** What stands for what is cut off: one for the whole program, by what its terminal can show. */
let cut = '…'

export function cutWith(mark: string): void {
  cut = mark
}

/** At most `width` columns; what is cut off is replaced by `…`. */
export function truncate(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  return width > cut.length ? `${beginning(text, width - cut.length)}${cut}` : cut.slice(0, Math.max(0, width))
}

/** What fits `width` columns, at least one character, and the rest. */
export function splitAt(text: string, width: number): [head: string, rest: string] {
  const head = beginning(text, width) || [...graphemes.segment(text)][0]!.segment
  return [head, text.slice(head.length)]
}

/** As much of the beginning as fits. */
function beginning(text: string, width: number): string {
  let kept = ''
  let used = 0
  for (const { segment } of graphemes.segment(text)) {
    used += widthOfGrapheme(segment)
    if (used > width) break
    kept += segment
  }
  return kept
}

export function pad(text: string, width: number, align: 'left' | 'right' = 'left'): string {
  const space = ' '.repeat(Math.max(0, width - widthOf(text)))
  return align === 'left' ? text + space : space + text
}

/** Text of others on one line, without what could move the cursor, change colours or turn the direction of writing. */
export function plain(text: string): string {
  return stripVTControlCharacters(text)
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .replaceAll(/[\p{Bidi_Control}]/gu, '')
}

function widthOfGrapheme(grapheme: string): number {
  if (INVISIBLE.test(grapheme)) return 0
  return WIDE.test(grapheme) ? 2 : 1
}
