import { splitAt, widthOf } from './text-width.ts'

/** Words on lines of at most `width` columns. A word that is longer stands alone, so that it can be copied, or is broken. */
export function wrap(text: string, width: number, { breakWords = false } = {}): string[] {
  const longest = breakWords ? width : Number.POSITIVE_INFINITY
  const lines: string[] = []
  let line = ''
  for (const whole of text.split(' ')) {
    let word = whole
    if (line !== '' && widthOf(line) + 1 + widthOf(word) > width) {
      lines.push(line)
      line = ''
    }
    while (widthOf(word) > longest) {
      const [head, rest] = splitAt(word, width)
      lines.push(head)
      word = rest
    }
    line = line === '' ? word : `${line} ${word}`
  }
  return [...lines, line]
}
