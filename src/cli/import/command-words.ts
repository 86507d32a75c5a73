/** The words of a command line as a shell would split it: quotes, escapes, lines that go on, and lines of comment. */
export function commandWords(text: string): string[] {
  const joined = text
    .split('\n')
    .filter((line) => !line.trim().startsWith('#'))
    .map((line) => line.replace(/\\\s*$/, ' '))
    .join(' ')
  const words: string[] = []
  for (const [, quoted, plainly] of joined.matchAll(/((?:"(?:[^"\\]|\\.)*"|'[^']*'|\\.|[^\s"'\\])+)|(\S)/g)) {
    words.push((quoted ?? plainly ?? '').replaceAll(/"((?:[^"\\]|\\.)*)"|'([^']*)'|\\(.)/g, unquoted))
  }
  return words
}

function unquoted(_: string, double: string | undefined, single: string | undefined, escaped: string): string {
  if (double !== undefined) return double.replaceAll(/\\(["\\$`])/g, '$1')
  return single ?? escaped
}
